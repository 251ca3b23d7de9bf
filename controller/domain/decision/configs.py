"""Facts about ConfigMaps and Secrets. No other action waits for them, least of all a rollback."""

from controller.api.config import ConfigKind
from controller.api.meta import Key, OwnerReference
from controller.domain.decision.value import Value


class KeepConfig(Value, frozen=True, tag=True):
    """A copy of the ConfigMap or Secret with this digest exists."""

    kind: ConfigKind
    source: Key
    digest: str
    copy: str
    rollout: OwnerReference


class RestoreConfig(Value, frozen=True, tag=True):
    """A ConfigMap or Secret has the content of this digest again, from our copy."""

    kind: ConfigKind
    target: Key
    resource_version: str
    digest: str
    copy: str
