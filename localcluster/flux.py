"""Flux's kustomize-controller, with a server of artifacts in place of Flux's source-controller and of Git.

Why it exists: only a real GitOps tool shows how it treats a release. Invariant: the manifests of a commit reach the
cluster through Flux alone. It must not know the product.
"""

import asyncio
import hashlib
import io
import itertools
import tarfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import msgspec
import yaml
from aiohttp import web

from localcluster.api import JsonObject
from localcluster.compile import Program
from localcluster.extras import BuiltExtra, Extra, ensure_extra
from localcluster.plane import Plane
from localcluster.ports import free_ports
from localcluster.process import Component
from localcluster.process import Program as Process
from localcluster.progress import Reporter

MODULE = "github.com/fluxcd/kustomize-controller"
KINDS = "config/crd/bases"
FLUX = Extra(
    "flux", Program(Path(__file__).parent / "flux", MODULE, "Flux"), {MODULE: (KINDS,)}
)  # fmt: skip
SOURCES = "source.toolkit.fluxcd.io"
"""The group of the kinds that kustomize-controller watches: one of them has our artifacts, the others are empty."""
KINDS_OF_SOURCES = ("GitRepository", "OCIRepository", "Bucket", "ExternalArtifact")
NAME = "app"
SECONDS = 60.0


def plural(kind: str) -> str:
    """The name of a kind of source in a path."""
    return f"{kind.lower().removesuffix('y')}ies" if kind.endswith("y") else f"{kind.lower()}s"


def definition(kind: str) -> JsonObject:
    """The CRD of a kind of source, without a schema: kustomize-controller reads a few fields of the status."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": anything},
    }
    names = {"kind": kind, "plural": plural(kind), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural(kind)}.{SOURCES}"},
        "spec": {"group": SOURCES, "names": names, "scope": "Namespaced", "versions": [version]},
    }


class Flux:
    """A running kustomize-controller and its artifacts."""

    def __init__(self, plane: Plane, folder: Path, url: str) -> None:
        self._plane = plane
        self._folder = folder
        self._url = url
        self._numbers = itertools.count(1)

    async def follow(self, namespace: str) -> None:
        """Apply the commits of a repository to a namespace, and delete what leaves it."""
        repository = {
            "apiVersion": f"{SOURCES}/v1",
            "kind": "GitRepository",
            "metadata": {"name": NAME},
            "spec": {},
        }
        source = {"kind": "GitRepository", "name": NAME}
        spec = {"interval": "10m", "prune": True, "path": "./", "sourceRef": source}
        kustomization = {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": NAME},
            "spec": {**spec, "targetNamespace": namespace},
        }
        client = self._plane.client()
        await client.create(_repositories(namespace), repository)
        await client.create(_kustomizations(namespace), kustomization)

    async def commit(self, namespace: str, objects: list[JsonObject]) -> None:
        """Make these the manifests of the repository, and wait until Flux has applied them."""
        number = next(self._numbers)
        content = _archive(yaml.safe_dump_all(objects))
        (self._folder / f"{number}.tar.gz").write_bytes(content)
        revision = f"main@sha1:{number:040x}"
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        artifact = {
            "url": f"{self._url}/{number}.tar.gz",
            "path": f"{number}.tar.gz",
            "revision": revision,
            "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
            "lastUpdateTime": now,
        }
        path = f"{_repositories(namespace)}/{NAME}/status"
        await self._plane.client().patch(path, {"status": {"artifact": artifact}})
        await self._until(namespace, lambda status: status.get("lastAppliedRevision") == revision)

    async def reconcile(self, namespace: str) -> None:
        """Ask Flux to compare and apply the last commit again, and wait until it has done so."""
        asked = f"request-{next(self._numbers)}"
        note = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": asked}}}
        await self._plane.client().patch(f"{_kustomizations(namespace)}/{NAME}", note)
        await self._until(namespace, lambda status: status.get("lastHandledReconcileAt") == asked)

    async def _until(self, namespace: str, accepts: Callable[[JsonObject], bool]) -> None:
        """Wait for a status of the Kustomization.

        Raises:
            TimeoutError: none came; the message has the last one.
        """
        last: JsonObject = {}
        try:
            async with asyncio.timeout(SECONDS), aclosing(self._statuses(namespace)) as statuses:
                async for last in statuses:
                    if accepts(last):
                        return
        except TimeoutError:
            raise TimeoutError(f"the Kustomization's last status: {last}") from None

    async def _statuses(self, namespace: str) -> AsyncGenerator[JsonObject, None]:
        parameters = {"watch": "1", "fieldSelector": f"metadata.name={NAME}"}
        async with self._plane.client().stream(_kustomizations(namespace), parameters) as lines:
            async for line in lines:
                yield msgspec.json.decode(line)["object"].get("status") or {}


def _repositories(namespace: str) -> str:
    return f"/apis/{SOURCES}/v1/namespaces/{namespace}/gitrepositories"


def _kustomizations(namespace: str) -> str:
    return f"/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/{namespace}/kustomizations"


def _archive(text: str) -> bytes:
    packed, content = io.BytesIO(), text.encode()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("app.yaml")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@asynccontextmanager
async def started_flux(
    plane: Plane, folder: Path, reporter: Reporter | None = None
) -> AsyncIterator[Flux]:
    """Run Flux beside a control plane; the first call on a machine compiles it: minutes."""
    built = await ensure_extra(FLUX, reporter)
    await plane.apply(yaml.safe_dump_all(map(definition, KINDS_OF_SOURCES)))
    await plane.kubectl("apply", "--server-side", "-f", str(built.source(MODULE, KINDS)))
    await plane.kubectl(
        *("wait", "crd", "--for=condition=Established", "--timeout=60s"),
        "kustomizations.kustomize.toolkit.fluxcd.io",
        *(f"{plural(kind)}.{SOURCES}" for kind in KINDS_OF_SOURCES),
    )
    artifacts = folder / "artifacts"
    artifacts.mkdir(parents=True)
    component = _component(built, plane, folder)
    async with _served(artifacts) as url:
        await component.start()
        try:
            yield Flux(plane, artifacts, url)
        finally:
            await component.terminate()


@asynccontextmanager
async def _served(folder: Path) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_static("/", folder)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _component(built: BuiltExtra, plane: Plane, folder: Path) -> Component:
    metrics, health = free_ports(2)
    line = (
        str(built.binary),
        f"--metrics-addr=127.0.0.1:{metrics}",
        f"--health-addr=127.0.0.1:{health}",
    )
    environment = {"KUBECONFIG": str(plane.kubeconfig()), "RUNTIME_NAMESPACE": "flux-system"}
    program = Process("flux", line, folder / "flux.log", environment=environment)

    async def is_ready() -> bool:
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://127.0.0.1:{health}/readyz") as answer,
            ):
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    return Component(program, is_ready, SECONDS)
