"""Facts about the extra Deployment of the canary style."""

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
