"""Builds the cluster's binaries once and keeps them in a cache.

Why it exists: a build takes minutes and its result depends on a few files only. Invariant: a folder of the cache is
complete or absent (it appears by one rename), its name is the hash of everything it was built from, and of several
builders at once one works while the others wait. It must not write outside the cache, nor need more than Go.
"""

import asyncio
import fcntl
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from localcluster.errors import BuildError
from localcluster.progress import Phase, Reporter, SilentReporter
from localcluster.toolchain import GoToolchain, ensure_go

KUBERNETES_VERSION = "v1.35.4"
SOURCES = Path(__file__).parent
MULTICALL = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "etcd")
ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where each program is."""

    kube_apiserver: Path
    kube_controller_manager: Path
    kube_scheduler: Path
    kubectl: Path
    etcd: Path
    kwok: Path

    @property
    def directory(self) -> Path:
        """The folder that can serve as KUBEBUILDER_ASSETS."""
        return self.kube_apiserver.parent


def cache_root() -> Path:
    """Return the folder of everything that is kept between runs."""
    if chosen := os.environ.get("MOONSHIFT_CACHE"):
        return Path(chosen) / "localcluster"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "moonshift" / "localcluster"


def linker_flags() -> str:
    """Return the -ldflags that strip the binary and stamp the version clients parse."""
    minor = KUBERNETES_VERSION.split(".")[1]
    stamps = {
        "gitVersion": KUBERNETES_VERSION,
        "gitMajor": "1",
        "gitMinor": minor,
        "gitCommit": "0" * 40,
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(["-s -w", *(f"-X {p}.{k}={v}" for p in packages for k, v in stamps.items())])


def cache_key() -> str:
    """Return the hash of sources and flags that names a build."""
    digest = hashlib.sha256(linker_flags().encode())
    modules = (SOURCES, SOURCES / "kwok")
    for path in sorted(
        p for m in modules for p in (m / "go.mod", m / "go.sum", *m.glob("*.go")) if p.exists()
    ):
        digest.update(f"\0{path.relative_to(SOURCES)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


async def ensure_built(reporter: Reporter | None = None) -> Binaries:
    """Return the programs, building those that neither the cache nor KUBEBUILDER_ASSETS has."""
    if platform.system() != "Linux":
        raise BuildError(
            "the local cluster needs Linux: its processes are controlled by pidfd and /proc"
        )
    given = os.environ.get(ASSETS_VARIABLE)
    assets = _present(Path(given)) if given else {}
    missing = [name for name in (*MULTICALL, "kwok") if name not in assets]
    if given and {"kube-apiserver", "etcd"} & set(missing):
        raise BuildError(f"{ASSETS_VARIABLE}={given} has no kube-apiserver or no etcd")
    if missing:
        directory = await _build_once(reporter or SilentReporter())
        assets = {**_present(directory), **assets}
    return Binaries(**{name.replace("-", "_"): assets[name] for name in (*MULTICALL, "kwok")})


def _present(directory: Path) -> dict[str, Path]:
    return {n: directory / n for n in (*MULTICALL, "kwok") if (directory / n).is_file()}


async def _build_once(reporter: Reporter) -> Path:
    root = cache_root()
    directory = root / cache_key()
    if directory.is_dir():
        return directory
    root.mkdir(parents=True, exist_ok=True)
    async with _locked(root / f"{directory.name}.lock", reporter):
        if not directory.is_dir():
            go = await ensure_go(root, reporter)
            reporter.note(
                f"building Kubernetes {KUBERNETES_VERSION} with Go {go.version} into {directory}"
            )
            await _build_into(directory, go, reporter)
    return directory


@asynccontextmanager
async def _locked(path: Path, reporter: Reporter) -> AsyncIterator[None]:
    with path.open("w") as handle:
        told = False
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    reporter.note("another process is building the same: waiting for it")
                    told = True
                await asyncio.sleep(0.5)
        yield


async def _build_into(directory: Path, go: GoToolchain, reporter: Reporter) -> None:
    partial = Path(tempfile.mkdtemp(prefix=f"{directory.name}.partial-", dir=directory.parent))
    try:
        await _compile(go, SOURCES, ".", partial / "plane", "the control plane", reporter)
        kwok = "sigs.k8s.io/kwok/cmd/kwok"
        await _compile(go, SOURCES / "kwok", kwok, partial / "kwok", "KWOK", reporter)
        _publish(partial, directory)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _publish(partial: Path, directory: Path) -> None:
    for name in MULTICALL:
        (partial / name).symlink_to("plane")
    partial.chmod(0o755)
    partial.rename(directory)


async def _compile(
    go: GoToolchain, module: Path, package: str, output: Path, title: str, reporter: Reporter
) -> None:
    with reporter.phase(f"{title}: find and download modules"):
        listed = await _run_go(go, module, "list", "-deps", package)
    with reporter.phase(f"{title}: compile", len(listed)) as phase:
        arguments = ("build", "-v", "-o", str(output), "-ldflags", linker_flags(), package)
        process = await _start_go(go, module, *arguments)
        said = await _watch_output(process, phase)
    if process.returncode != 0:
        raise BuildError(f"go build of {title} failed:\n" + "\n".join(said))


async def _watch_output(process: asyncio.subprocess.Process, phase: Phase) -> list[str]:
    """Report each line as progress until the process ends; return the last lines."""
    assert process.stderr is not None
    said: list[str] = []
    try:
        async for line in process.stderr:
            text = line.decode().rstrip()
            said = [*said[-30:], text]
            phase.advance(text)
        await process.wait()
    finally:
        await _end(process)
    return said


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
