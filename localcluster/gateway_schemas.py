"""Writes the schemas of gateway kinds into the package, from the CRDs that their vendors publish.

`python -m localcluster.gateway_schemas` needs Go with its module proxy, and Git. Why: `moonshift simulate` has no API
server, and says what one would refuse. Invariant: only published sources under licences as permissive as ours are
read, in the versions named here, through the ordinary `go mod download`, or `git fetch` for a vendor whose CRDs no Go
module has; a schema is stored without descriptions and without rules in CEL, so that all of them together stay small.
Run it again to take newer versions.
"""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

TARGET = Path(__file__).resolve().parent.parent / "controller/cli/simulation/gateway_schemas"
SOURCES = (
    ("sigs.k8s.io/gateway-api@v1.6.3", "config/crd/experimental"),
    ("istio.io/istio@v0.0.0-20260827124520-eed52ebb66ad", "manifests/charts/base/files/crd-all.gen.yaml"),
    ("github.com/projectcontour/contour@v1.33.8", "examples/contour/01-crds.yaml"),
    ("github.com/traefik/traefik/v3@v3.6.12",
     "docs/content/reference/dynamic-configuration/kubernetes-crd-definition-v1.yml"),
    ("github.com/apache/apisix-ingress-controller@v1.8.4", "samples/deploy/crd/v1/ApisixRoute.yaml"),
    ("github.com/nginxinc/kubernetes-ingress@v1.12.5", "deployments/common/crds"),
    ("github.com/emissary-ingress/emissary/v3@v3.9.1", "pkg/api/getambassador.io/crds.yaml"),
    ("github.com/szuecs/routegroup-client@v0.28.2", "zalando.org_routegroups.yaml"),
    ("github.com/openshift/api@v0.0.0-20240830023148-b7d0481c9094", "route/v1/zz_generated.crd-manifests"),
    ("github.com/cilium/cilium@v1.20.2", "pkg/k8s/apis/cilium.io/client/crds/v2"),
)  # fmt: skip
"""A module with its version, and the file or folder of its CRDs."""
REPOSITORIES = (
    ("github.com/kumahq/kuma", "v2.14.3", "deployments/charts/kuma/crds"),
    ("github.com/solo-io/gloo", "v1.22.1", "install/helm/gloo/crds"),
    ("github.com/F5Networks/k8s-bigip-ctlr", "v2.20.4",
     "docs/config_examples/customResourceDefinitions/customresourcedefinitions.yml"),
    ("github.com/linkerd/linkerd2", "version-2.20", "charts/linkerd-crds/templates/policy"),
    ("github.com/servicemeshinterface/smi-sdk-go", "a143f8bc96eccdf5fc8a66d0c1622591104c77e0", "crds/split.yaml"),
)  # fmt: skip
"""A repository with its tag or commit, and the file or folder of its CRDs."""
KINDS = {
    "gateway.networking.k8s.io": ("HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute"),
    "networking.istio.io": ("VirtualService", "DestinationRule"),
    "projectcontour.io": ("HTTPProxy",),
    "traefik.io": ("IngressRoute", "IngressRouteTCP", "IngressRouteUDP", "TraefikService"),
    "apisix.apache.org": ("ApisixRoute",),
    "k8s.nginx.org": ("VirtualServer", "VirtualServerRoute"),
    "getambassador.io": ("Mapping",),
    "zalando.org": ("RouteGroup",),
    "route.openshift.io": ("Route",),
    "cilium.io": ("CiliumEnvoyConfig",),
    "split.smi-spec.io": ("TrafficSplit",),
    "kuma.io": ("MeshHTTPRoute", "MeshTCPRoute"),
    "gateway.solo.io": ("RouteTable", "VirtualService"),
    "gloo.solo.io": ("UpstreamGroup",),
    "cis.f5.com": ("VirtualServer", "TransportServer"),
    "policy.linkerd.io": ("HTTPRoute",),
}
LEFT_OUT = frozenset(
    {"description", "example", "externalDocs", "title", "x-kubernetes-validations",
     "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "status"}
)  # fmt: skip


def slim(schema: Any, *, names: bool = False) -> Any:
    """The schema without the parts that no check reads; `names` if the keys are names of fields."""
    if isinstance(schema, list):
        return [slim(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: slim(value, names=key == "properties" and not names)
        for key, value in schema.items()
        if names or key not in LEFT_OUT
    }


def schemas_in(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Group and kind, and the schema of the spec of each version, of the CRDs in a file or a chart's template."""
    plain = "".join(line for line in text.splitlines(keepends=True) if "{{" not in line)
    for crd in yaml.safe_load_all(plain):
        if not crd or crd.get("kind") != "CustomResourceDefinition":
            continue
        group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
        if kind not in KINDS.get(group, ()):
            continue
        versions = {}
        for version in crd["spec"]["versions"]:
            found = (
                version.get("schema", {})
                .get("openAPIV3Schema", {})
                .get("properties", {})
                .get("spec")
            )
            if found:
                versions[version["name"]] = slim(found)
        yield f"{group}.{kind}", versions


def downloaded(module: str) -> Path:
    """The folder of a module in Go's cache."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "go.mod").write_text("module schemas\n\ngo 1.25\n")
        ran = subprocess.run(
            ["go", "mod", "download", "-json", module],
            cwd=folder, env=os.environ, check=True, capture_output=True, text=True,
        )  # fmt: skip
    return Path(json.loads(ran.stdout)["Dir"])


def fetched(repository: str, revision: str, place: str, folder: Path) -> Path:
    """The folder of a repository at a revision, with no other file than those of the place."""
    commands = (
        ("init", "--quiet"),
        ("fetch", "--quiet", "--depth=1", "--filter=blob:none", f"https://{repository}", revision),
        ("remote", "add", "origin", f"https://{repository}"),
        ("config", "remote.origin.promisor", "true"),
        ("checkout", "--quiet", "FETCH_HEAD", "--", place),
    )
    for command in commands:
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def published() -> Iterator[tuple[str, str]]:
    """The text of every file with CRDs, and its source."""
    with TemporaryDirectory() as whole:
        for module, place in SOURCES:
            yield from _texts(module, downloaded(module) / place)
        for repository, revision, place in REPOSITORIES:
            folder = Path(whole, repository.replace("/", "-"))
            folder.mkdir()
            yield from _texts(
                f"{repository}@{revision}", fetched(repository, revision, place, folder) / place
            )


def _texts(source: str, path: Path) -> Iterator[tuple[str, str]]:
    for file in [path] if path.is_file() else sorted(path.glob("*.yaml")):
        yield source, file.read_text(encoding="utf-8")


def main() -> int:
    """Write every schema; a kind that no source has is a failure."""
    written: set[str] = set()
    for source, found in published():
        for name, versions in schemas_in(found):
            text = json.dumps(
                {"from": source, "versions": versions}, sort_keys=True, separators=(",", ":")
            )
            (TARGET / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
            written.add(name)
    missing = {f"{group}.{kind}" for group, kinds in KINDS.items() for kind in kinds} - written
    sys.stdout.write(
        f"{len(written)} schemas\n" + "".join(f"missing: {name}\n" for name in sorted(missing))
    )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
