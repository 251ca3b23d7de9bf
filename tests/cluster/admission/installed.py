"""A plane of its own with CRDs, webhook configurations and a webhook server in this process.

Why not the shared plane: webhooks with failure policy Fail would affect all other tests.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from controller.api.jsontree import JsonObject
from controller.api.meta import ObjectMeta
from controller.api.names import (
    CONTROLLER_ACCOUNT,
    DEFAULT_NAMESPACE,
    FIELD_MANAGER,
    WEBHOOK_SECRET,
)
from controller.api.rollout import Rollout
from controller.api.workloads import ReplicaSet
from controller.certificates.identity import Identity
from controller.certificates.keeper import CertificateKeeper, Places
from controller.certificates.publish import CRD, MUTATING, Address, Publisher
from controller.errors import NotFound
from controller.runtime.clock import SystemClock
from controller.webhook.admission import Admission, Handler
from controller.webhook.server import serving, webhook_app
from controller.webhook.stores import FolderSecrets
from controller.webhook.tls import ServingTls
from demo.stage import ROOT
from localcluster.api import ApiClient
from localcluster.errors import RequestRefused
from localcluster.plane import Plane
from tests.component.webhook.no_metrics import NoMetrics

DEPLOY = ROOT / "deploy"
MANIFESTS = DEPLOY / "crds"

_PATHS = {
    CRD: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    MUTATING: "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
}
_VALIDATING_PATH = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


class LiveConfigurations:
    """ConfigurationStore over a plane's client."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def read(self, kind: str, name: str) -> JsonObject:
        try:
            return await self._client.get(f"{_PATHS.get(kind, _VALIDATING_PATH)}/{name}")
        except RequestRefused as refusal:
            if refusal.status == 404:
                raise NotFound(str(refusal), status=404) from refusal
            raise

    async def replace(self, kind: str, name: str, obj: JsonObject) -> None:
        await self._client.replace(f"{_PATHS.get(kind, _VALIDATING_PATH)}/{name}", obj)


class LiveReads:
    """RolloutReader and ReplicaSetReader over a plane's client."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def rollouts(self, namespace: str) -> Sequence[Rollout]:
        path = f"/apis/rollouts.kruise.io/v1beta1/namespaces/{namespace}/rollouts"
        found = (await self._client.get(path))["items"]
        return [msgspec.json.decode(msgspec.json.encode(item), type=Rollout) for item in found]

    async def latest(self, namespace: str) -> Sequence[Rollout]:
        return await self.rollouts(namespace)

    async def kept_owners(self, rollout: ObjectMeta, workload_uid: str) -> str:
        return ""

    async def of(self, deployment_uid: str, namespace: str) -> Sequence[ReplicaSet]:
        path = f"/apis/apps/v1/namespaces/{namespace}/replicasets"
        found = (await self._client.get(path))["items"]
        decoded = [
            msgspec.json.decode(msgspec.json.encode(item), type=ReplicaSet) for item in found
        ]
        return [entry for entry in decoded if entry.metadata.controller_uid == deployment_uid]


async def _our_name() -> str:
    return f"system:serviceaccount:{DEFAULT_NAMESPACE}:{CONTROLLER_ACCOUNT}"


OURS = Identity(_our_name)


async def write_status(plane: Plane, path: str, status: JsonObject) -> dict[str, Any]:
    """Change a status as the controller does; `path` is the Rollout's."""
    token = await plane.service_account_token(DEFAULT_NAMESPACE, CONTROLLER_ACCOUNT)
    async with plane.client_for_token(token) as own:
        return await own.patch(f"{path}/status?fieldManager={FIELD_MANAGER}", {"status": status})


@asynccontextmanager
async def installed(directory: Path) -> AsyncIterator[Plane]:
    """Run a plane with everything installed and the webhooks answered, for the length of a block."""
    async with Plane.start(directory / "plane") as plane:
        await plane.kubectl("apply", "--server-side", "-f", str(MANIFESTS))
        await plane.kubectl("apply", "-k", str(DEPLOY / "kustomize" / "local"))
        await plane.crds_served()
        reads = LiveReads(plane.client())
        admission = Admission(reads, reads, SystemClock(), is_own=OURS.is_own)
        handlers = admission.handlers()
        files = directory / "serving"
        # The certificate is needed before the port is known, the port before the address is published.
        first = _keeper(plane, directory, files, Address(url="https://127.0.0.1:1"), handlers)
        await first.ensure()
        tls = ServingTls(files).context
        app = webhook_app(handlers, NoMetrics())
        async with serving(app, "127.0.0.1", 0, tls) as port:
            address = Address(url=f"https://127.0.0.1:{port}")
            assert await _keeper(plane, directory, files, address, handlers).ensure() == ()
            yield plane


def _keeper(
    plane: Plane,
    directory: Path,
    files: Path,
    address: Address,
    handlers: Mapping[str, Handler],
) -> CertificateKeeper:
    return CertificateKeeper(
        FolderSecrets(directory / "secrets"),
        Publisher(LiveConfigurations(plane.client()), address, handlers.keys(), OURS),
        address,
        Places(WEBHOOK_SECRET, files),
        SystemClock(),
    )
