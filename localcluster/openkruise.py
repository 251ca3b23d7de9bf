"""OpenKruise's own manager on a plane: CloneSet, Advanced StatefulSet, Advanced DaemonSet.

Why it exists: only a run of these controllers shows how they treat pods. Invariant: the manager is the
published one, with its own CRDs and its own webhooks for these three kinds; pod webhooks and the node daemon are off,
because no test needs them. It must not be needed by anything that does not use these kinds. Its webhook server
listens on all addresses of the machine: that is not configurable.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from localcluster.answering import Answering
from localcluster.compile import Program
from localcluster.errors import CommandFailed
from localcluster.extras import BuiltExtra, Extra, ensure_extra
from localcluster.plane import Plane
from localcluster.ports import free_ports
from localcluster.process import Component
from localcluster.progress import Reporter

MODULE = "github.com/openkruise/kruise"
KRUISE = Extra(
    "kruise",
    Program(Path(__file__).parent / "kruise", MODULE, "OpenKruise's manager"),
    {MODULE: ("config",)},
)
NAME = "kruise-manager"
USER = "kruise"
NAMESPACE = "kruise-system"
READY_SECONDS = 60.0
WEBHOOKS = frozenset(
    f"{m}{kind}.kb.io" for m in "mv" for kind in ("cloneset", "daemonset", "statefulset")
)
INSTALLED = frozenset(
    {
        "Namespace",
        "CustomResourceDefinition",
        "Service",
        "Secret",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
)

Manifest = dict[str, Any]


async def start_kruise(plane: Plane, reporter: Reporter | None = None) -> Component:
    """Install OpenKruise on `plane` and return its manager when it is ready; the plane ends it.

    The first call on a machine compiles the manager: minutes.
    """
    built = await ensure_extra(KRUISE, reporter)
    await _install(plane, built)
    webhook_port, health_port = free_ports(2)
    line = (
        "/usr/bin/env",
        f"KUBECONFIG={plane.kubeconfig(USER)}",
        f"POD_NAMESPACE={NAMESPACE}",
        "WEBHOOK_HOST=127.0.0.1",
        f"WEBHOOK_PORT={webhook_port}",
        f"WEBHOOK_CERT_DIR={plane.layout.directory / 'kruise'}",
        str(built.binary),
        "--enable-leader-election=false",
        "--feature-gates=PodWebhook=false,KruiseDaemon=false",
        "--enable-pprof=false",
        "--metrics-addr=0",
        f"--health-probe-addr=127.0.0.1:{health_port}",
        "--rest-config-qps=500",
        "--rest-config-burst=1000",
    )
    await plane.open_port(f"{NAME}-door", health_port)
    ready = Answering(f"http://127.0.0.1:{health_port}/readyz")
    return await plane.add(NAME, plane.at_home(line), ready, READY_SECONDS)


def chosen(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Return the part of OpenKruise's published manifests that a plane needs."""
    return [_narrowed(m) for m in manifests if m["kind"] in INSTALLED]


def _narrowed(manifest: Manifest) -> Manifest:
    if "webhooks" not in manifest:
        return manifest
    kept = [webhook for webhook in manifest["webhooks"] if webhook["name"] in WEBHOOKS]
    return {**manifest, "webhooks": kept}


async def _install(plane: Plane, built: BuiltExtra) -> None:
    rendered = await plane.kubectl("kustomize", str(built.source(MODULE, "config/default")))
    manifests = chosen(yaml.safe_load_all(rendered))
    try:
        await plane.apply(yaml.safe_dump_all(manifests), server_side=True)
    except CommandFailed as failed:
        raise CommandFailed(f"OpenKruise's manifests were refused: {failed}") from failed
    names = [m["metadata"]["name"] for m in manifests if m["kind"] == "CustomResourceDefinition"]
    await plane.crds_served(*names)
