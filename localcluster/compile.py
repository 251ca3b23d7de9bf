"""Compiles Go programs: one at a time per result, with progress, leaving nothing behind when cancelled.

Why it exists: the control plane and the optional components are built alike. Invariant: a build runs with the
toolchain it is given, and of several processes that want the same result one works while the others wait. It must
not decide where results are kept.
"""

import asyncio
import fcntl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from localcluster.errors import BuildError
from localcluster.progress import Phase, Reporter
from localcluster.toolchain import GoToolchain

# The linker removes the data for debuggers. Without writing them first, the compiler needs a fifth less time.
COMPILER_FLAGS = "-gcflags=all=-dwarf=false"
LINKING = 0.05
"""Time of the linker, which nothing reports, as a share of the compiler's."""
_TO_COMPILE = "{{if .Stale}}{{.ImportPath}}\t{{.Dir}}{{range .GoFiles}}\t{{.}}{{end}}{{end}}"


@dataclass(frozen=True, slots=True)
class Program:
    """A main package, seen from the folder of our own go.mod that pins it."""

    module: Path
    package: str
    title: str
    linker_flags: str = "-s -w"
    tags: str = ""
    """Build tags, which leave out what is not used."""
    module_file: str = "go.mod"
    """The file in `module` that pins the modules, if it is not go.mod."""
    is_test: bool = False
    """The package's tests, as a program, instead of its main function."""


@asynccontextmanager
async def locked(path: Path, reporter: Reporter) -> AsyncIterator[None]:
    """Hold the lock file `path` for the length of a block; report a wait for it."""
    with path.open("w") as handle:
        announced = False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not announced:
                    reporter.note("another process is building the same: waiting for it")
                    announced = True
                await asyncio.sleep(0.5)
        yield


async def compile_program(
    go: GoToolchain, program: Program, output: Path, reporter: Reporter
) -> None:
    """Build `program` into the file `output`.

    Raises:
        BuildError: the modules cannot be had, or the compiler refused; the message has the last lines.
    """
    with reporter.phase(f"{program.title}: find and download modules"):
        sizes = await _sizes(go, program)
    total = sum(sizes.values()) * (1 + LINKING)
    with reporter.phase(f"{program.title}: compile", total) as phase:
        verb = ("test", "-c") if program.is_test else ("build", "-v")
        flags = ("-o", str(output), *_flags(program), "-ldflags", program.linker_flags)
        process = await _start_go(go, program.module, *verb, *flags, program.package)
        lines = await _watch_output(process, phase, sizes)
    if process.returncode != 0:
        raise BuildError(f"go build of {program.title} failed:\n" + "\n".join(lines))


def _flags(program: Program) -> tuple[str, ...]:
    pins = () if program.module_file == "go.mod" else (f"-modfile={program.module_file}",)
    tags = ("-tags", program.tags) if program.tags else ()
    return (*pins, COMPILER_FLAGS, *tags)


async def _sizes(go: GoToolchain, program: Program) -> dict[str, int]:
    """Bytes of source of each package that is still to be compiled: the best guess of how long that takes."""
    lines = await _run_go(
        go,
        program.module,
        "list",
        "-deps",
        *(("-test",) if program.is_test else ()),
        *_flags(program),
        "-f",
        _TO_COMPILE,
        program.package,
    )

    def sizes() -> dict[str, int]:
        found: dict[str, int] = {}
        for line in lines:
            package, folder, *files = line.split("\t")
            found[package] = sum(Path(folder, file).stat().st_size for file in files)
        return found

    return await asyncio.to_thread(sizes)


async def module_folder(go: GoToolchain, module: Path, path: str) -> Path:
    """Return where the sources of the module `path` are, as pinned by the go.mod in the folder `module`."""
    await _run_go(go, module, "mod", "download", path)
    (folder,) = await _run_go(go, module, "list", "-m", "-f", "{{.Dir}}", path)
    return Path(folder)


async def _watch_output(
    process: asyncio.subprocess.Process, phase: Phase, sizes: Mapping[str, int]
) -> list[str]:
    """Report each line, the name of a package, as progress until the process ends; return the last lines."""
    assert process.stderr is not None
    lines: list[str] = []
    try:
        async for line in process.stderr:
            text = line.decode().rstrip()
            lines = [*lines[-30:], text]
            phase.advance(text, sizes.get(text, 0))
        await process.wait()
    finally:
        await _end(process)
    return lines


async def _run_go(go: GoToolchain, module: Path, *arguments: str) -> list[str]:
    process = await _start_go(go, module, *arguments)
    try:
        output, errors = await process.communicate()
    finally:
        await _end(process)
    if process.returncode != 0:
        raise BuildError(f"go {arguments[0]} failed:\n{errors.decode()[-4000:]}")
    return output.decode().splitlines()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Leave no compiler behind a cancelled build."""
    if process.returncode is None:
        process.terminate()
        await process.wait()


async def _start_go(go: GoToolchain, module: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        str(go.binary),
        *arguments,
        cwd=module,
        env=go.environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
