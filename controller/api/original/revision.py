"""The name that the original gives a Deployment's revision: `canaryRevision` and `updatedRevision`.

Why it exists: clients built with the original's library compute this name from the Deployment and compare it. It is not
the pod-template-hash. Invariant: shown only; two templates that the original cannot distinguish have no name here, so
nothing may be decided by it.
"""

import msgspec

from controller.api.original.go_print import NotPrintable, go_print

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_FNV_START, _FNV_PRIME, _32_BITS = 0x811C9DC5, 0x01000193, 0xFFFFFFFF


def original_revision(template: bytes) -> str | None:
    """Return the original's name of a pod template (raw JSON); None if the original's types cannot hold all of it."""
    try:
        printed = go_print(msgspec.json.decode(template or b"{}"))
    except NotPrintable:
        return None
    return safe_encoded(str(fnv1a(printed.encode())))


def fnv1a(data: bytes) -> int:
    """FNV-1a in 32 bits."""
    found = _FNV_START
    for byte in data:
        found = ((found ^ byte) * _FNV_PRIME) & _32_BITS
    return found


def safe_encoded(text: str) -> str:
    """Text in the alphabet of names that Kubernetes makes."""
    return "".join(_ALPHABET[ord(letter) % len(_ALPHABET)] for letter in text)
