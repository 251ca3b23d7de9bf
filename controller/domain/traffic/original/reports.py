"""The reports of gateways on an object before a release wrote it: the object's `status` and the generation that it had.

Why it is kept: a gateway that had refused the owner's own object, or was away, cannot be waited for later. Invariant:
text that is too long or damaged reads as "not known", never as a report.
"""

import base64
import binascii
import zlib

from controller.domain.traffic.tree import Tree, decode_tree, encode

MAX_PACKED = 16 * 1024
"""Bytes of the annotation; a longer report is not kept."""
MAX_REPORT = 1024 * 1024


def report_of(live: Tree) -> Tree:
    """The report on a live object."""
    metadata = live.get("metadata")
    generation = metadata.get("generation") if isinstance(metadata, dict) else None
    return {"generation": generation or 0, "status": live.get("status") or {}}


def packed_report(live: Tree) -> str:
    """The report for the record; empty if nobody reported, or it is too long."""
    if not live.get("status"):
        return ""
    text = base64.b64encode(zlib.compress(encode(report_of(live)), level=9)).decode()
    return text if len(text) <= MAX_PACKED else ""


def unpacked_report(text: str) -> Tree | None:
    """A report from the record; None if there is none that can be read."""
    try:
        unpacker = zlib.decompressobj()
        found = unpacker.decompress(base64.b64decode(text, validate=True), MAX_REPORT)
        return decode_tree(found) if text else None
    except (binascii.Error, zlib.error, ValueError):
        return None
