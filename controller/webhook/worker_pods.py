"""The pods of the script worker, found by the label of its Deployment in the controller's own namespace.

Invariant: only the annotation is written, and it is no failure if a pod was deleted in the meantime.
"""

import msgspec

from controller.api.meta import ObjectMeta
from controller.api.names import WORKER_CERTIFICATES
from controller.errors import NotFound
from controller.kube.client import KubeClient
from controller.kube.resources import PODS


class _Pod(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Page(msgspec.Struct, frozen=True):
    items: tuple[_Pod, ...] = ()


class KubeWorkerPods:
    """Implements `controller.certificates.worker_notice.WorkerPods`."""

    def __init__(self, client: KubeClient, namespace: str, service: str) -> None:
        """`service` is the name that the worker's Service, Deployment and label have in common."""
        self._client = client
        self._namespace = namespace
        self._selector = f"app.kubernetes.io/name={service}"

    async def annotate(self, value: str) -> None:
        """Give all of them this value of the annotation."""
        patch = {"metadata": {"annotations": {WORKER_CERTIFICATES: value}}}
        found: list[str] = []
        async for raw in self._client.list_pages(PODS, self._namespace, self._selector):
            page = msgspec.json.decode(raw, type=_Page)
            found += (pod.metadata.name for pod in page.items)
        for name in found:
            try:
                await self._client.merge_patch(PODS, self._namespace, name, patch)
            except NotFound:
                continue
