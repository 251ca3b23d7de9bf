"""Objects that were made for a release beside a gateway object: a canary Ingress, a second Mapping.

They are ours as a whole: found by the UID of the Rollout in a label, each with a record of the object it stands beside
and of what we wrote. What others add to one (a controller's annotations, defaults of the server) is left alone; what
they take away or change is put back; the end of a release removes it, and needs no script for that.
Invariant: an object without the Rollout's UID, in a label or as an owner (as the original controller made them), is
somebody else's and never written or deleted.
"""

import base64
import binascii
import zlib

import msgspec

from controller.api import names
from controller.api.meta import ObjectMeta
from controller.domain.decision import Reference
from controller.domain.traffic.original import content_of, strings_of
from controller.domain.traffic.state import MAX_CONTENT, checksum
from controller.domain.traffic.tree import Tree, covers, decode_tree, encode


class MadeRecord(msgspec.Struct, frozen=True):
    """What `moonshift.dev/made` says: for whom, beside what, and what was written."""

    rollout: str
    beside: str
    desired: str
    packed: str


class Made(msgspec.Struct, frozen=True):
    """One such object as it is. `written` is the checksum of what we wrote; empty where we did not.

    `whole` says that it still says so. `leaving` objects are being deleted and count no more.
    """

    kind: str
    name: str
    uid: str
    live: Tree
    beside: str = ""
    written: str = ""
    whole: bool = False
    leaving: bool = False

    @property
    def identity(self) -> str:
        """Kind and name: how the record of the object it stands beside names it."""
        return f"{self.kind}/{self.name}"


class _Head(msgspec.Struct, frozen=True):
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


def place_of(reference: Reference) -> str:
    """How records name the object of a reference; the version does not matter."""
    return f"{reference.group}/{reference.kind}/{reference.name}"


def is_made_for(metadata: ObjectMeta, rollout_uid: str) -> bool:
    """The object was made for this Rollout."""
    return bool(rollout_uid) and rollout_uid in makers_of(metadata)


def makers_of(metadata: ObjectMeta) -> frozenset[str]:
    """UIDs of the Rollouts an object may have been made for."""
    label = metadata.labels.get(names.ROLLOUT_UID, "")
    return frozenset(filter(None, (label, *(owner.uid for owner in metadata.owner_references))))


def beside(metadata: ObjectMeta) -> str:
    """The place of the object it was made beside; empty where it does not say."""
    record = _record_of(metadata.annotations.get(names.MADE, ""))
    return record.beside if record is not None else ""


def see_made(raw: bytes) -> Made | None:
    """What is known of an object that was made for a Rollout; None when it cannot be read."""
    try:
        live = decode_tree(raw)
        head = msgspec.json.decode(raw, type=_Head)
    except (ValueError, msgspec.DecodeError):
        return None
    meta = head.metadata
    made = Made(head.kind, meta.name, meta.uid, live, leaving=meta.deleting)
    record = _record_of(meta.annotations.get(names.MADE, ""))
    if record is None:
        return made
    desired = _unpack(record)
    whole = desired is not None and covers(content_of(live), desired)
    return msgspec.structs.replace(
        made, beside=record.beside, written=record.desired if desired else "", whole=whole
    )


def _record_of(text: str) -> MadeRecord | None:
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"), type=MadeRecord)
    except msgspec.DecodeError:
        return None


def _unpack(record: MadeRecord) -> Tree | None:
    try:
        packed = base64.b64decode(record.packed, validate=True)
        content = zlib.decompressobj().decompress(packed, MAX_CONTENT)
        return decode_tree(content) if checksum(content) == record.desired else None
    except (binascii.Error, zlib.error, ValueError):
        return None


def written_sum(wanted: Tree) -> str:
    """The checksum a record of this object has: `wanted` is a whole manifest."""
    return checksum(encode(content_of(wanted)))


def made_body(wanted: Tree, live: Made | None, *, rollout: str, uid: str, beside: str) -> bytes:
    """The object to write: `wanted` with the marks of whom it was made for, on top of what others added to `live`."""
    content = content_of(wanted)
    text = encode(content)
    record = MadeRecord(
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
    metadata["annotations"] = {**annotations, names.MADE: msgspec.json.encode(record).decode()}
    base: Tree = {**live.live} if live is not None else {}
    body: Tree = {**base, "apiVersion": wanted["apiVersion"], "kind": wanted["kind"]}
    body["metadata"] = metadata
    body["spec"] = content.get("spec", {})
    return encode(body)


def wanted_part(manifest: Tree, key: str) -> str:
    """A word of a manifest's metadata; empty where there is none."""
    metadata = manifest.get("metadata")
    return strings_of(metadata).get(key, "")


def _others(live: Made | None, part: str) -> dict[str, str]:
    """Labels or annotations of the live object that we did not write."""
    if live is None:
        return {}
    record = _record_of(strings_of(_metadata(live.live).get("annotations")).get(names.MADE, ""))
    desired = _unpack(record) if record is not None else None
    ours = strings_of(desired.get(part)) if desired is not None else {}
    have = strings_of(_metadata(live.live).get(part))
    return {key: value for key, value in have.items() if key not in (*ours, names.MADE)}


def _metadata(obj: Tree) -> Tree:
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def stands(wanted: dict[str, str], made: tuple[Made, ...]) -> bool:
    """The objects are there as they were written, and none besides. `wanted`: checksums by identity."""
    present = [item for item in made if not item.leaving]
    return {item.identity: item.written for item in present} == wanted and all(
        item.whole for item in present
    )


def disturbances(wanted: dict[str, str], made: tuple[Made, ...]) -> tuple[Made | str, ...]:
    """Objects that somebody changed, and the names of those that are gone."""
    present = {item.identity: item for item in made if not item.leaving}
    gone = tuple(name for name in wanted if name not in present)
    changed = tuple(item for name, item in present.items() if name in wanted and not item.whole)
    return (*gone, *changed)
