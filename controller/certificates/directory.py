"""Certificates as files, for servers that read them from a directory.

Invariant: a reader never meets a half-written file, and everything is readable by its owner only. Keys are written
before certificates, so that a server that sees a new certificate finds the key that belongs to it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from controller.errors import BadConfiguration


def write_files(directory: Path, data: Mapping[str, bytes]) -> bool:
    """Write files that differ; returns whether any did. Raises BadConfiguration. Blocking: call it in a thread."""
    try:
        return _written(directory, data)
    except OSError as failure:
        raise BadConfiguration(
            f"certificates cannot be written into the folder {directory}: {failure.strerror}; give another folder, or "
            "make this one writable for the controller"
        ) from failure


def _written(directory: Path, data: Mapping[str, bytes]) -> bool:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    wrote = False
    for name in sorted(data, key=lambda name: not name.endswith("key")):
        path = directory / name
        if path.exists() and path.read_bytes() == data[name]:
            continue
        half = directory / f".{name}.{os.getpid()}"
        with open(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data[name])
        half.replace(path)
        wrote = True
    return wrote


def read_files(directory: Path) -> dict[str, bytes]:
    """All files of `directory`, by name; empty if there is none. Blocking: call it in a thread."""
    if not directory.is_dir():
        return {}
    return {
        path.name: path.read_bytes()
        for path in sorted(directory.iterdir())
        if path.is_file() and not path.name.startswith(".")
    }
