"""Shows whether server and zygote have the same library of modules; then a call does not carry the modules' texts.

Invariant: both compute it from the product's files that they read themselves. It only has to differ between two
versions; it need not resist attacks, because no user chooses these files. The zygote loads this module, so it uses no
hash that needs OpenSSL.
"""

import zlib
from collections.abc import Iterable


def fingerprint(library: Iterable[tuple[bytes, bytes]]) -> int:
    """The fingerprint of names and texts, in any order; never 0."""
    mark = 1
    for name, text in sorted(library):
        mark = zlib.crc32(b"%b %d %b" % (name, len(text), text), mark)
    return mark or 1
