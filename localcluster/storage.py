"""The folder of etcd's data: in memory if possible.

Why it exists: etcd's speed is the disk's, and a test's data need not survive. Invariant: a folder in memory is held by
a file lock of the process that uses it, or, for a plane that outlives its starter, named in its state; so a folder
whose holder died is found and removed by the next start. It must not remove anything whose lock is held.
"""

import fcntl
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

MEMORY = Path("/dev/shm")
PREFIX = "moonshift-plane-"
NEEDED_BYTES = 512 * 2**20


@dataclass(slots=True)
class DataFolder:
    """A folder for data; `remove` ends it."""

    path: Path
    lock: IO[str] | None = None

    def remove(self) -> None:
        """Delete the folder and let go of its lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.lock is not None:
            self.lock.close()
            self.lock = None


def new_data_folder(fallback: Path, held: bool, memory: Path = MEMORY) -> DataFolder:
    """Make a folder in memory, or below `fallback`; `held` ones are removed after their holder's death."""
    if not memory.is_dir() or not os.access(memory, os.W_OK) or _free(memory) < NEEDED_BYTES:
        path = fallback / "data"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return DataFolder(path)
    sweep(memory)
    if not held:
        return DataFolder(Path(tempfile.mkdtemp(prefix=f"{PREFIX}up-", dir=memory)))
    # The lock is taken before the folder has the name that a sweep looks for.
    path = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=memory))
    lock = (path / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return DataFolder(path.rename(path.with_name(path.name[1:])), lock)


def sweep(memory: Path = MEMORY) -> None:
    """Remove folders whose holder has died."""
    for path in memory.glob(f"{PREFIX}*/lock"):
        try:
            with path.open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.parent, ignore_errors=True)
        except OSError:
            continue


def _free(path: Path) -> int:
    return shutil.disk_usage(path).free
