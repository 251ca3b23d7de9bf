"""Our own annotation on a gateway object in use: its Rollout, the plan it follows, and the content we wrote.

It is set in the same write as the routes themselves, so a crash cannot separate the two. The content we wrote (D) is
kept completely, because removing our part must not need a script. It is compressed with the original as dictionary, so
that little more than the difference is stored. The checksum of the original shows whether it is damaged.
Invariant: `read_state(write_state(…))` returns the same record; a damaged record reads as None.
Must not be trusted beyond its checksums: everybody who may edit the object can edit the record.
"""

import base64
import binascii
import hashlib
import zlib
from datetime import datetime

import msgspec

from controller.api.decoding import decoded
from controller.domain.traffic.tree import MOST_VALUES, Tree, decode_tree, encode, values_in

MAX_CONTENT = 4 * 1024 * 1024
"""More than the API server would store; unpacking stops here."""
_DICTIONARY = 32 * 1024


class RouteRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of `moonshift.dev/route`.

    `depth` is the object's place in the dependency order: objects of a lesser depth may refer to it, and none refers to
    an object of depth 0. `original` and `desired` are SHA-256 sums, of the stored original's text and of D; `packed` is
    D. `objects` are the checksums of the companion objects, by kind and name. `corrected` are the places of the last
    put-back, `corrected_at` is its time, and `corrected_before` the time of the put-back before it. `namespace` is the
    Rollout's: an object without one may be used from several namespaces. `announced`: proxies learn of Services from
    objects of this kind. `said` is given anew by every write that changes what the object says. `before` is the
    report of gateways on the owner's own object (`reports`), packed; empty if nobody reported, or no script reads it.
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
    corrected_before: datetime | None = None
    announced: bool = False
    namespace: str = ""
    said: str = ""
    before: str = ""


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
    corrected_before: datetime | None = None,
    announced: bool = False,
    namespace: str = "",
    said: str = "",
    before: str = "",
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
        corrected_before=corrected_before,
        announced=announced,
        namespace=namespace,
        said=said,
        before=before,
    )
    return msgspec.json.encode(record).decode()


def read_state(text: str) -> RouteRecord | None:
    """The record, or None when the text is not one."""
    try:
        return decoded(text.encode("utf-8", "replace"), RouteRecord)
    except msgspec.DecodeError:
        return None


def unpack(record: RouteRecord, original: str) -> Tree | None:
    """The content we wrote; None when record and original do not belong together or one is damaged."""
    if checksum(original.encode("utf-8", "replace")) != record.original:
        return None
    try:
        packed = base64.b64decode(record.packed, validate=True)
        unpacker = zlib.decompressobj(zdict=_dictionary(original))
        content = unpacker.decompress(packed, MAX_CONTENT)
        if values_in(content) > MOST_VALUES or checksum(content) != record.desired:
            return None
        return decode_tree(content)
    except (binascii.Error, zlib.error, ValueError):
        return None
