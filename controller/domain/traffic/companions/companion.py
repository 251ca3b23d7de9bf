"""Companion objects: objects that a release makes beside a gateway object, such as a canary Ingress or a second
Mapping.

A companion object belongs to us completely. It is found by the Rollout's UID in a label, and records the gateway object
it accompanies and the content we wrote. Additions by others (a controller's annotations, server defaults) are kept;
removals and changes by others are reverted. The end of a release deletes it without calling a script.
Invariant: an object without the Rollout's UID, in a label or as an owner (the original controller used an
ownerReference), belongs to somebody else and is never written or deleted. One with the UID of a Rollout that exists no
more is first claimed (`rollout/routes/claiming`).
"""

import base64
import binascii
import zlib

import msgspec

from controller.api import names
from controller.api.decoding import decoded
from controller.api.meta import ObjectMeta
from controller.domain.decision import Reference
from controller.domain.traffic.original.content import content_of, strings_of
from controller.domain.traffic.original.record import MAX_CONTENT, checksum
from controller.domain.traffic.tree import Tree, covers, decode_tree, encode


class CompanionRecord(msgspec.Struct, frozen=True):
    """The content of `moonshift.dev/made`: the Rollout, the gateway object, and the content we wrote."""

    rollout: str
    beside: str
    desired: str
    packed: str


class CompanionObject(msgspec.Struct, frozen=True):
    """A companion object as it is now. `written` is the checksum of the content that we wrote; empty if we wrote none.

    `whole`: the live object still contains all that we wrote. `leaving`: it is being deleted and is ignored; its
    `finalizers` keep it.
    """

    kind: str
    name: str
    uid: str
    live: Tree
    beside: str = ""
    written: str = ""
    whole: bool = False
    leaving: bool = False
    finalizers: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """Kind and name; the gateway object's record uses them as the key."""
        return f"{self.kind}/{self.name}"


class _Head(msgspec.Struct, frozen=True):
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


def place_of(reference: Reference) -> str:
    """The form in which records name the object of a reference; the API version is not part of it."""
    return f"{reference.group}/{reference.kind}/{reference.name}"


def is_companion_for(metadata: ObjectMeta, rollout_uid: str) -> bool:
    """The object was made for this Rollout."""
    return bool(rollout_uid) and rollout_uid in makers_of(metadata)


def makers_of(metadata: ObjectMeta) -> frozenset[str]:
    """UIDs of the Rollouts an object may have been made for."""
    label = metadata.labels.get(names.ROLLOUT_UID, "")
    return frozenset(filter(None, (label, *(owner.uid for owner in metadata.owner_references))))


def place_of_companion(metadata: ObjectMeta) -> str:
    """The place of the gateway object that it accompanies; empty if the object does not say."""
    record = _record_of(metadata.annotations.get(names.COMPANION, ""))
    return record.beside if record is not None else ""


def finding_keys(metadata: ObjectMeta) -> frozenset[str]:
    """The keys of an index of objects: by the UIDs of Rollouts, and by the name of the Rollout it was made for."""
    name = rollout_of_companion(metadata)
    return makers_of(metadata) | ({made_for_name(name)} if name else frozenset())


def made_for_name(rollout: str) -> str:
    """The key of `finding_keys` for a Rollout's name; no UID has a space."""
    return f"named {rollout}"


def rollout_of_companion(metadata: ObjectMeta) -> str:
    """The name of the Rollout that it was made for; empty where the object does not say."""
    record = _record_of(metadata.annotations.get(names.COMPANION, ""))
    return record.rollout if record is not None else ""


def read_companion(raw: bytes) -> CompanionObject | None:
    """The companion object in `raw`; None when it cannot be read."""
    try:
        live = decode_tree(raw)
        head = decoded(raw, _Head)
    except (ValueError, msgspec.DecodeError):
        return None
    meta = head.metadata
    made = CompanionObject(
        head.kind, meta.name, meta.uid, live, leaving=meta.deleting, finalizers=meta.finalizers
    )
    record = _record_of(meta.annotations.get(names.COMPANION, ""))
    if record is None:
        return made
    desired = _unpack(record)
    whole = desired is not None and covers(content_of(live), desired)
    return msgspec.structs.replace(
        made, beside=record.beside, written=record.desired if desired else "", whole=whole
    )


def _record_of(text: str) -> CompanionRecord | None:
    try:
        return decoded(text.encode("utf-8", "replace"), CompanionRecord)
    except msgspec.DecodeError:
        return None


def _unpack(record: CompanionRecord) -> Tree | None:
    try:
        packed = base64.b64decode(record.packed, validate=True)
        content = zlib.decompressobj().decompress(packed, MAX_CONTENT)
        return decode_tree(content) if checksum(content) == record.desired else None
    except (binascii.Error, zlib.error, ValueError):
        return None


def written_sum(wanted: Tree) -> str:
    """The checksum that a record of this object has. `wanted` is a whole manifest."""
    return checksum(encode(content_of(wanted)))


def companion_body(
    wanted: Tree, live: CompanionObject | None, *, rollout: str, uid: str, beside: str
) -> bytes:
    """The object to write: `wanted` with our marks, on top of the fields that others added to `live`."""
    content = content_of(wanted)
    text = encode(content)
    record = CompanionRecord(
        rollout, beside, checksum(text), base64.b64encode(zlib.compress(text, 9)).decode()
    )
    metadata: Tree = {}
    if live is not None:
        present = live.live.get("metadata")
        metadata = {**present} if isinstance(present, dict) else {}
    else:
        metadata = {key: wanted_part(wanted, key) for key in ("name", "namespace")}
    labels = {**_others(live, "labels"), **strings_of(content.get("labels"))}
    annotations = {**_others(live, "annotations"), **strings_of(content.get("annotations"))}
    metadata["labels"] = {**labels, names.ROLLOUT_UID: uid}
    metadata["annotations"] = {**annotations, names.COMPANION: msgspec.json.encode(record).decode()}
    base: Tree = {**live.live} if live is not None else {}
    body: Tree = {**base, "apiVersion": wanted["apiVersion"], "kind": wanted["kind"]}
    body["metadata"] = metadata
    body["spec"] = content.get("spec", {})
    return encode(body)


def wanted_part(manifest: Tree, key: str) -> str:
    """A string of a manifest's metadata; empty if it is missing."""
    metadata = manifest.get("metadata")
    return strings_of(metadata).get(key, "")


def _others(live: CompanionObject | None, part: str) -> dict[str, str]:
    """Labels or annotations of the live object that we did not write."""
    if live is None:
        return {}
    record = _record_of(
        strings_of(_metadata(live.live).get("annotations")).get(names.COMPANION, "")
    )
    desired = _unpack(record) if record is not None else None
    ours = strings_of(desired.get(part)) if desired is not None else {}
    have = strings_of(_metadata(live.live).get(part))
    return {key: value for key, value in have.items() if key not in (*ours, names.COMPANION)}


def _metadata(obj: Tree) -> Tree:
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def all_exist(wanted: dict[str, str], made: tuple[CompanionObject, ...]) -> bool:
    """Exactly the wanted companion objects exist, as they were written. `wanted`: checksums by identity."""
    present = [item for item in made if not item.leaving]
    return {item.identity: item.written for item in present} == wanted and all(
        item.whole for item in present
    )


def disturbances(
    wanted: dict[str, str], made: tuple[CompanionObject, ...]
) -> tuple[CompanionObject | str, ...]:
    """Objects that somebody changed, and the names of those that are gone."""
    present = {item.identity: item for item in made if not item.leaving}
    gone = tuple(name for name in wanted if name not in present)
    changed = tuple(item for name, item in present.items() if name in wanted and not item.whole)
    return (*gone, *changed)
