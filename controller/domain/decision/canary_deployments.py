"""Facts about the extra Deployment of the canary style, and about objects that a release will make."""

import msgspec

from controller.api.meta import Key
from controller.domain.decision.value import Value


class EnsureCanaryDeployment(Value, frozen=True, tag=True):
    """An extra Deployment of the new template exists; `body` is its manifest."""

    deployment: Key
    body: msgspec.Raw


class ScaleCanaryDeployment(Value, frozen=True, tag=True):
    """The extra Deployment has this number of replicas."""

    deployment: Key
    uid: str
    replicas: int


class DeleteCanaryDeployment(Value, frozen=True, tag=True):
    """An extra Deployment made for this Rollout is gone."""

    deployment: Key
    uid: str


class RehearseObjects(Value, frozen=True, tag=True):
    """The API server accepts these manifests, of objects that the release makes later; nothing is written."""

    namespace: str
    deployments: tuple[msgspec.Raw, ...] = ()
    services: tuple[msgspec.Raw, ...] = ()
