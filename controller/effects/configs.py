"""ConfigMaps and Secrets: copies of stable content, and the restore from a copy.

Invariant: content goes from one object to another of the same kind and nowhere else: not into a log, an error, an Event
or a status, and never from a Secret into a ConfigMap. It is read for each write, and written only when its digest is
the one in the decision, over the version that was observed; otherwise nothing is written, and the watch reports the
change.
"""

import msgspec

from controller.api import names
from controller.api.config import ConfigKind, ConfigObject, content_digest
from controller.api.meta import Key
from controller.domain import reasons
from controller.domain.config.references import named
from controller.domain.decision import (
    Done,
    KeepConfig,
    Outcome,
    Refusal,
    RestoreConfig,
)
from controller.effects.patches import Operation, absent
from controller.effects.writes import Writes
from controller.errors import NotFound
from controller.kube.resources import CONFIG_MAPS, SECRETS, Resource

RESOURCES: dict[ConfigKind, Resource] = {
    ConfigKind.CONFIG_MAP: CONFIG_MAPS,
    ConfigKind.SECRET: SECRETS,
}
KEPT_TYPE = "moonshift.dev/kept-config"
"""Type of a Secret that is a copy; no controller of the cluster acts on this type."""


class _Content(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None

    @property
    def digest(self) -> str:
        return content_digest(self.data, self.binary_data)


async def keep(writes: Writes, action: KeepConfig) -> Outcome:
    """Create the copy, or update its content."""
    resource = RESOURCES[action.kind]
    content = await _read(writes, resource, action.source)
    if content is None or content.digest != action.digest:
        return Done()
    copy = Key(action.source.namespace, action.copy)
    if await writes.create(resource, copy, _body(action, copy, content)):
        return Done(wrote=True)
    present = msgspec.json.decode(await writes.read(resource, copy), type=ConfigObject)
    if present.metadata.labels.get(names.ROLLOUT_UID) != action.rollout.uid:
        text = f"{named(action.kind, copy.name)} exists and is no copy of ours: rename or remove it"
        return Refusal(reasons.CONFIG_NOT_OURS, text, object=str(copy))
    await writes.patch(resource, copy, _contents(present.metadata.resource_version, content))
    return Done(wrote=True)


async def restore(writes: Writes, action: RestoreConfig) -> Outcome:
    """Write the content of the copy into the owner's object."""
    resource = RESOURCES[action.kind]
    content = await _read(writes, resource, Key(action.target.namespace, action.copy))
    if content is None or content.digest != action.digest:
        return Done()
    operations = _contents(action.resource_version, content)
    # Otherwise the owner's next server-side apply would conflict with our fields.
    await writes.give_back(resource, action.target, operations)
    return Done(wrote=True)


async def _read(writes: Writes, resource: Resource, key: Key) -> _Content | None:
    try:
        return msgspec.json.decode(await writes.read(resource, key), type=_Content)
    except NotFound:
        return None


def _body(action: KeepConfig, copy: Key, content: _Content) -> bytes:
    owner = {
        "apiVersion": action.rollout.api_version,
        "kind": action.rollout.kind,
        "name": action.rollout.name,
        "uid": action.rollout.uid,
    }
    body: dict[str, object] = {
        "apiVersion": RESOURCES[action.kind].api_version,
        "kind": action.kind.value,
        "metadata": {
            "name": copy.name,
            "namespace": copy.namespace,
            "labels": {names.ROLLOUT_UID: action.rollout.uid},
            "annotations": {names.KEPT_CONFIG_OF: named(action.kind, action.source.name)},
            "ownerReferences": [owner],
        },
    }
    if action.kind is ConfigKind.SECRET:
        body["type"] = KEPT_TYPE
    return msgspec.json.encode({**body, **msgspec.to_builtins(content)})


def _contents(resource_version: str, content: _Content) -> list[Operation]:
    """A patch that leaves exactly this content, over the version that was observed."""
    operations: list[Operation] = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version},
        {"op": "add", "path": "/data", "value": content.data or {}},
    ]
    if content.binary_data:
        operations.append({"op": "add", "path": "/binaryData", "value": content.binary_data})
    else:
        operations += absent("/binaryData")
    return operations
