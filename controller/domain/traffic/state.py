"""Our own annotation on a gateway object in use: whose it is, which plan it follows, and what we wrote.

It is set in the same write as the routes themselves, so a crash can never leave one without the other. What we wrote
(D) is kept whole, because taking our part out again must need no script: compressed with the original as dictionary,
which leaves little more than the difference. The checksum of the original tells a damaged one from a good one.
Invariant: `read_state(write_state(…))` gives back the same record; a record that anybody damaged reads as None.
Must not be trusted beyond its checksums: the text is in the reach of everybody who may edit the object.
"""

import base64
import binascii
import hashlib
import zlib
from datetime import datetime

import msgspec

from controller.domain.traffic.tree import Tree, decode_tree, encode

MAX_CONTENT = 4 * 1024 * 1024
"""More than the API server would store: where unpacking stops."""
_DICTIONARY = 32 * 1024


class RouteRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What `moonshift.dev/route` says.

    `depth` is the object's place in dependency order: those of a lesser depth may point at it, nothing at one of 0.
    `original` and `desired` are SHA-256 sums, of the stored original's text and of D; `packed` is D.
    `objects` are the checksums of what was made beside the object, by kind and name. `corrected` are the places where
    somebody's change was put back last, and `corrected_at` when. `namespace` is the Rollout's: an object without one
    may be led from several.
    `announced`: the object's kind is one whose proxies learn of Services from it.
    """

    release: str
    rollout: str
    plan: str
    original: str
    desired: str
    packed: str
    depth: int = 0
    objects: dict[str, str] = {}
    corrected: tuple[str, ...] = ()
    corrected_at: datetime | None = None
    announced: bool = False
    namespace: str = ""


def checksum(data: bytes) -> str:
    """SHA-256, as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def _dictionary(original: str) -> bytes:
    return original.encode()[-_DICTIONARY:]


def write_state(
    *,
    release: str,
    rollout: str,
    plan: str,
    depth: int,
    original: str,
    desired: Tree,
    objects: dict[str, str] | None = None,
    corrected: tuple[str, ...] = (),
    corrected_at: datetime | None = None,
    announced: bool = False,
    namespace: str = "",
) -> str:
    """The annotation's text; `original` is the text of the other annotation."""
    content = encode(desired)
    packer = zlib.compressobj(level=9, zdict=_dictionary(original))
    packed = packer.compress(content) + packer.flush()
    record = RouteRecord(
        release=release,
        rollout=rollout,
        plan=plan,
        depth=depth,
        original=checksum(original.encode()),
        desired=checksum(content),
        packed=base64.b64encode(packed).decode(),
        objects=objects or {},
        corrected=corrected,
        corrected_at=corrected_at,
        announced=announced,
        namespace=namespace,
    )
    return msgspec.json.encode(record).decode()


def read_state(text: str) -> RouteRecord | None:
    """The record, or None when the text is not one."""
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"), type=RouteRecord)
    except msgspec.DecodeError:
        return None


def unpack(record: RouteRecord, original: str) -> Tree | None:
    """What we wrote; None when record and original do not belong together or one is damaged."""
    if checksum(original.encode("utf-8", "replace")) != record.original:
        return None
    try:
        packed = base64.b64decode(record.packed, validate=True)
        unpacker = zlib.decompressobj(zdict=_dictionary(original))
        content = unpacker.decompress(packed, MAX_CONTENT)
        return decode_tree(content) if checksum(content) == record.desired else None
    except (binascii.Error, zlib.error, ValueError):
        return None
