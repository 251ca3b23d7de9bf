"""Reads the files that a person names: the one reader of the command line.

Why: a FIFO without a writer holds a command for ever, a device has no end, and a file of a gigabyte takes the memory of
the machine. Invariant: only files, and pipes that are open already (standard input, `<(command)` of a shell), are read,
and no more than `LARGEST` of them. Raises OSError, and ValueError with a reason in words.
"""

import os
import stat
from pathlib import Path

LARGEST = 64 << 20
"""Bytes; the manifests of a whole cluster have a few MiB."""
_OPEN = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def read_bytes(path: Path) -> bytes:
    """The content of a file."""
    # Without O_NONBLOCK the opening of a FIFO waits for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode) and str(path).startswith(_OPEN):
            os.set_blocking(descriptor, True)
        elif not stat.S_ISREG(mode):
            raise ValueError(f"it is {_kind(mode)}, and not a file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(content) > LARGEST:
        raise ValueError(f"it has more than {LARGEST >> 20} MiB")
    return content


def read_text(path: Path, errors: str = "strict") -> str:
    """The content of a file of text."""
    return read_bytes(path).decode("utf-8", errors)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe that nobody has opened" if stat.S_ISFIFO(mode) else "a device or a socket"
