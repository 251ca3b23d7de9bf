"""The worker's certificate is in a Secret: the controller creates it and annotates the pods; the worker waits for it.

The plane has no kubelet: when the pod's annotation changes, the test writes the Secret's files, as a kubelet does.
"""

import asyncio
import base64
from http import HTTPStatus
from pathlib import Path

from controller.api.names import WORKER_CERTIFICATES
from controller.certificates.for_worker import WORKER_SECRET
from demo.stage import (
    CONTROLLER,
    NAMESPACE,
    READY_SECONDS,
    WORKER,
    Product,
    answers_at,
    on_one_machine,
)
from localcluster.errors import RequestRefused
from localcluster.history import Change, Kind
from localcluster.plane import Plane
from localcluster.ports import free_ports
from localcluster.process import Component, Program

PODS = Kind("", "v1", "pods")
HOST = "localhost"
"""The worker's address on one machine; also the name by which its pods are found."""
POD = {
    "metadata": {"name": "worker", "labels": {"app.kubernetes.io/name": HOST}},
    "spec": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "worker",
                "image": WORKER,
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    },
}


def component(
    product: Product, deployment: str, values: dict[str, str], probes: int, *more: str
) -> Component:
    """A process with the arguments of its manifest, and these in place of some."""
    flags = {**values, "--health-probe-bind-address": f"127.0.0.1:{probes}"}
    flags["--metrics-bind-address"] = "0"
    command = on_one_machine(product.arguments(deployment), flags)
    program = Program(deployment, [*command, *more], product.folder / f"{deployment}.log")
    return Component(program, answers_at(f"127.0.0.1:{probes}"), READY_SECONDS)


def is_annotated(change: Change) -> bool:
    return WORKER_CERTIFICATES in change.object["metadata"].get("annotations", {})


async def bring_files(plane: Plane, folder: Path) -> None:
    """Write the Secret's content to files, as a kubelet does with a mounted Secret."""
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets/{WORKER_SECRET}"
    for name, data in (await plane.client().get(path))["data"].items():
        (folder / name).write_bytes(base64.b64decode(data))


async def without_secret(plane: Plane) -> None:
    """Pods are annotated only for a new Secret; a Secret of another test would already be mounted."""
    try:
        await plane.client().delete(f"/api/v1/namespaces/{NAMESPACE}/secrets/{WORKER_SECRET}")
    except RequestRefused as refused:
        if refused.status != HTTPStatus.NOT_FOUND:
            raise


async def test_a_worker_that_started_first_serves_as_soon_as_its_pod_gets_the_secret(
    ground: Plane, tmp_path: Path
) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    port, webhook, *probes = free_ports(4)
    product = Product(ground, tmp_path, free_ports(5))
    await product.install()
    await without_secret(ground)
    await ground.client().create(f"/api/v1/namespaces/{NAMESPACE}/pods", POD)
    token = await ground.service_account_token(NAMESPACE, CONTROLLER)
    served = {"--listen": f"127.0.0.1:{port}", "--tls-dir": str(mounted)}
    worker = component(product, WORKER, served, probes[0])
    leading = {
        "--kubeconfig": str(ground.kubeconfig_for_token("controller", token)),
        "--lua-worker": f"dns:///{HOST}:{port}",
        "--lua-worker-tls-dir": str(tmp_path / "calling"),
        "--webhook-port": str(webhook),
        "--webhook-url": f"https://127.0.0.1:{webhook}",
        "--webhook-cert-dir": str(tmp_path / "certificates"),
        "--namespace": NAMESPACE,
    }
    controller = component(product, CONTROLLER, leading, probes[1], "--webhook-certs-in-secret")
    try:
        worker.spawn()
        async with ground.recorder(PODS) as pods:
            await controller.start()
            pod = await pods.until(is_annotated)
            assert pod.key.name == "worker"
            assert worker.running, "it waits"
            await bring_files(ground, mounted)
            await worker.wait_ready()
    finally:
        await asyncio.gather(controller.terminate(), worker.terminate())
