"""Builds the cluster's binaries once and keeps them in a cache.

Why it exists: a build takes minutes and its result depends on a few files only. Invariant: a folder of the cache is
complete or absent (it appears by one rename), its name is the hash of everything it was built from, and of several
builders at once one works while the others wait. It must not write outside the cache, and must need only Go.
"""

import hashlib
import os
import platform
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from localcluster.compile import Program, compile_program, locked
from localcluster.errors import BuildError
from localcluster.progress import Reporter, SilentReporter
from localcluster.releases import NEWEST, KubernetesRelease, chosen_release
from localcluster.toolchain import GoToolchain, ensure_go

KUBERNETES_VERSION = NEWEST.version
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


def linker_flags(release: KubernetesRelease = NEWEST) -> str:
    """Return the -ldflags that strip the binary and stamp the version clients parse."""
    stamps = {
        "gitVersion": release.version,
        "gitMajor": "1",
        "gitMinor": release.minor.split(".")[1],
        "gitCommit": "0" * 40,
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(["-s -w", *(f"-X {p}.{k}={v}" for p in packages for k, v in stamps.items())])


def cache_key() -> str:
    """Return the hash of the sources and flags of the chosen release: the name of its build."""
    release = chosen_release()
    digest = hashlib.sha256(linker_flags(release).encode())
    pins = (SOURCES / release.module_file, SOURCES / release.sum_file, *SOURCES.glob("*.go"))
    kwok = SOURCES / "kwok"
    kwok_sources = (kwok / "go.mod", kwok / "go.sum", *kwok.glob("*.go"))
    for path in sorted(p for p in (*pins, *kwok_sources) if p.exists()):
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


def is_built() -> bool:
    """Whether `ensure_built` has nothing to build: the cache or KUBEBUILDER_ASSETS has it all."""
    given = os.environ.get(ASSETS_VARIABLE)
    found = {**_present(cache_root() / cache_key()), **(_present(Path(given)) if given else {})}
    return set(found) == {*MULTICALL, "kwok"}


def _present(directory: Path) -> dict[str, Path]:
    return {n: directory / n for n in (*MULTICALL, "kwok") if (directory / n).is_file()}


async def _build_once(reporter: Reporter) -> Path:
    root = cache_root()
    directory = root / cache_key()
    if directory.is_dir():
        return directory
    root.mkdir(parents=True, exist_ok=True)
    async with locked(root / f"{directory.name}.lock", reporter):
        if not directory.is_dir():
            go = await ensure_go(root, reporter)
            version = chosen_release().version
            reporter.note(f"building Kubernetes {version} with Go {go.version} into {directory}")
            await _build_into(directory, go, reporter)
    return directory


async def _build_into(directory: Path, go: GoToolchain, reporter: Reporter) -> None:
    partial = Path(tempfile.mkdtemp(prefix=f"{directory.name}.partial-", dir=directory.parent))
    try:
        release = chosen_release()
        plane = Program(
            SOURCES,
            ".",
            "the control plane",
            linker_flags(release),
            module_file=release.module_file,
        )
        await compile_program(go, plane, partial / "plane", reporter)
        kwok = Program(SOURCES / "kwok", "sigs.k8s.io/kwok/cmd/kwok", "KWOK", linker_flags())
        await compile_program(go, kwok, partial / "kwok", reporter)
        _publish(partial, directory)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _publish(partial: Path, directory: Path) -> None:
    for name in MULTICALL:
        (partial / name).symlink_to("plane")
    partial.chmod(0o755)
    partial.rename(directory)
