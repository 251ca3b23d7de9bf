"""ConfigMaps and Secrets, with the fields that Moonshift keeps: the object's identity, and a digest of its content.

Invariant: content is read and forgotten. A `slimmed` view has no byte of it, also not in an annotation: `kubectl apply`
keeps the whole object in one.
"""

from enum import StrEnum

import msgspec

from controller.api.meta import ObjectMeta
from controller.api.names import KEPT_CONFIG_OF, ROLLOUT_UID, TRACK_CONFIG
from controller.api.workloads import safe_hash

PUBLISHED_BY_THE_CLUSTER = "kube-root-ca.crt"
"""A ConfigMap that the control plane writes into every namespace; it is never released."""


class ConfigKind(StrEnum):
    """The kinds whose content pods read."""

    CONFIG_MAP = "ConfigMap"
    SECRET = "Secret"


class ConfigObject(msgspec.Struct, frozen=True, rename="camel"):
    """A ConfigMap or a Secret; `digest` is set, and the content gone, once it is slimmed."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None
    immutable: bool | None = None
    digest: str = ""

    def left_out(self, kind: ConfigKind) -> bool:
        """Whether changes of its content are no releases: the control plane changes it, or its owner says so. The owner
        of a Secret has to say that they are releases, because the digest of its content is then seen by more people.
        """
        asked = self.metadata.annotations.get(TRACK_CONFIG)
        if kind is ConfigKind.SECRET:
            return asked != "true"
        return asked == "false" or self.metadata.name == PUBLISHED_BY_THE_CLUSTER


def content_digest(data: dict[str, str] | None, binary_data: dict[str, str] | None) -> str:
    """Hash of the content: the same for an object and its copy."""
    return safe_hash(msgspec.json.encode([data or {}, binary_data or {}], order="sorted"))


def slimmed(found: ConfigObject) -> ConfigObject:
    """The object without its content."""
    meta = msgspec.structs.replace(
        found.metadata,
        labels=_only(found.metadata.labels, ROLLOUT_UID),
        annotations=_only(found.metadata.annotations, TRACK_CONFIG, KEPT_CONFIG_OF),
    )
    digest = content_digest(found.data, found.binary_data)
    return ConfigObject(metadata=meta, immutable=found.immutable, digest=digest)


def _only(entries: dict[str, str], *names: str) -> dict[str, str]:
    return {name: entries[name] for name in names if name in entries}
