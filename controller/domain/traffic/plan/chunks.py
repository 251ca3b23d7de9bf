"""The two chunks of a gateway script's text: the routes, and (after the line `--@taken`) the question whether the
gateway took them.

Each chunk is sent to the worker as a script of its own, so neither sees the other's locals. Invariant: a text without
the line is its first chunk, byte by byte; a line of the second chunk has the number that it has in the whole text, so
messages about it name the right one.
"""

import re

_LINE = re.compile(rb"^--@taken[ \t\r]*$", re.MULTILINE)


def chunks_of(text: bytes) -> tuple[bytes, bytes]:
    """The first chunk, and the second one; empty if there is none."""
    line = _LINE.search(text) if b"--@taken" in text else None
    if line is None:
        return text, b""
    return text[: line.start()], b"\n" * text.count(b"\n", 0, line.end()) + text[line.end() :]
