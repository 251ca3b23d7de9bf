"""Tells whether server and zygote have the same library of modules, so that a call need not carry its texts.

Invariant: both compute it from the product's files that they read themselves. It need not resist attacks: only two
versions have to differ. The zygote loads this module, so it uses no hash that needs OpenSSL.
"""

import zlib
from collections.abc import Iterable


def fingerprint(library: Iterable[tuple[bytes, bytes]]) -> int:
    """Of names and texts, in any order; never 0."""
    mark = 1
    for name, text in sorted(library):
        mark = zlib.crc32(b"%b %d %b" % (name, len(text), text), mark)
    return mark or 1
