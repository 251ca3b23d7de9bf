"""Builds both images of the product here, without a registry: `python -m demo.cluster.images`, or `make images`.

Why it exists: the node's tests and the demo install the product of this checkout. Invariant: the images come from the
Dockerfile that users build with; the base is made of Debian's packages, the wheels are fetched once with their hashes
checked, and the build itself reaches no network; the same sources give the same archive, which is kept in the cache.
It must not touch the machine's own container storage.
"""

import asyncio
import fcntl
import hashlib
import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from demo.cluster import sbom
from demo.cluster.locks import BUILD, PROCESSES, ROOT, lock_file
from demo.cluster.sbom import write_document
from localcluster.build import cache_root
from localcluster.errors import BuildError
from localcluster.node.tools import IMAGE_PACKAGES, missing_packages, program
from localcluster.progress import ConsoleReporter, Reporter

DOCKERFILE = ROOT / "deploy" / "docker" / "Dockerfile"
SUITE = "bookworm"
"""The Debian release with the Python version of the tests."""
PACKAGES = ("python3", "python3-venv", "ca-certificates")
BASE = f"localhost/moonshift-base:{SUITE}"
VERSION = "0.1.0"
WHEELS = ROOT / "build" / "wheelhouse"
SOURCES = ("controller", "luaworker", "protos", "lua_configuration", "deploy/crds", "deploy/docker")
FILES = ("pyproject.toml", "README.md", "LICENSE")
LEFT_OUT = {"__pycache__"}
KEPT = 3
"""Builds that stay in the cache."""


@dataclass(frozen=True, slots=True)
class Images:
    """The archives of both images (`docker save`'s format)."""

    folder: Path

    @property
    def archives(self) -> tuple[Path, ...]:
        """The files, one for each process."""
        return tuple(self.folder / f"{name}.tar" for name in PROCESSES)

    @property
    def documents(self) -> tuple[Path, ...]:
        """The lists of their parts (CycloneDX), one for each process."""
        return tuple(self.folder / f"{name}.cdx.json" for name in PROCESSES)


def image_name(process: str) -> str:
    """Return the full name of an image as a kubelet understands `moonshift-<process>`."""
    return f"docker.io/library/moonshift-{process}:{VERSION}"


def key() -> str:
    """Return the hash of everything that the images are made from."""
    digest = hashlib.sha256(repr((SUITE, PACKAGES)).encode())
    paths = [*(ROOT / name for name in FILES), Path(sbom.__file__)]
    for name in SOURCES:
        paths += [p for p in (ROOT / name).rglob("*") if p.is_file() and not _left_out(p)]
    for path in sorted(paths):
        digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _left_out(path: Path) -> bool:
    return bool(LEFT_OUT & set(path.parts))


async def ensure_images(reporter: Reporter) -> Images:
    """Return the images of this checkout, building them unless the cache has them.

    Raises:
        BuildError: a tool is missing, or a step failed; the message has its last lines.
    """
    root = cache_root().parent / "images"
    images = Images(root / f"build-{key()}")
    if images.folder.is_dir():
        return images
    if missing := missing_packages(IMAGE_PACKAGES):
        raise BuildError(f"images need {', '.join(missing)}: `make node-tools` installs them")
    root.mkdir(parents=True, exist_ok=True)
    with _alone(root / "lock"):
        if not images.folder.is_dir():
            await _build(_Storage(root), images, reporter)
            _forget(root)
    return images


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _forget(root: Path) -> None:
    """Remove all but the newest builds."""
    builds = sorted(root.glob("build-*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for folder in builds[KEPT:]:
        shutil.rmtree(folder)


@dataclass(frozen=True, slots=True)
class _Storage:
    """The folders in which buildah keeps layers between builds."""

    root: Path

    def buildah(self, command: str, *arguments: str) -> list[str]:
        return [
            str(program("buildah") or "buildah"),
            *("--root", str(self.root / "storage"), "--runroot", str(self.root / "run")),
            *("--storage-driver", "overlay", command, *arguments),
        ]


async def _build(storage: _Storage, images: Images, reporter: Reporter) -> None:
    await _ensure_base(storage, reporter)
    with reporter.phase("fetch the wheels of both processes"):
        await _fetch_wheels()
    partial = images.folder.with_name(f"{images.folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    for process in PROCESSES:
        with reporter.phase(f"build the image of the {process}"):
            archive = partial / f"{process}.tar"
            await _build_image(storage, process, archive)
            write_document(archive, f"moonshift-{process}", VERSION)
    partial.rename(images.folder)


async def _ensure_base(storage: _Storage, reporter: Reporter) -> None:
    name = f"base-{hashlib.sha256(repr((SUITE, PACKAGES)).encode()).hexdigest()[:12]}"
    archive = storage.root / f"{name}.tar"
    marker = storage.root / f"{name}.committed"
    if marker.exists():
        return
    with reporter.phase("make a base of Debian's packages"):
        await _run(
            *(str(program("mmdebstrap") or "mmdebstrap"), "--quiet", "--variant=minbase"),
            *(f"--include={','.join(PACKAGES)}", SUITE, str(archive)),
        )
        container = (await _run(*storage.buildah("from", "scratch"))).strip()
        await _run(*storage.buildah("add", container, str(archive), "/"))
        await _run(
            *storage.buildah("config", "--env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", container)
        )
        await _run(*storage.buildah("commit", "--rm", container, BASE))
    archive.unlink()
    marker.touch()


async def _fetch_wheels() -> None:
    """Fetch the packages of the lock files into build/wheelhouse, unless all of them are there."""
    locks = [lock_file(name) for name in (*PROCESSES, BUILD)]
    digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()[:16]
    complete = WHEELS / f"complete-{digest}"
    if complete.exists():
        return
    await _run(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps"),
        *("--only-binary=:all:", f"--dest={WHEELS}", *(f"--requirement={p}" for p in locks)),
    )
    complete.touch()


def storage_command(command: str) -> list[str]:
    """Return the beginning of a command line of buildah that works where the images are built."""
    return _Storage(cache_root().parent / "images").buildah(command)


async def build_again(process: str, archive: Path) -> None:
    """Build an image of this checkout from its base, with nothing that an earlier build left."""
    storage = _Storage(cache_root().parent / "images")
    with _alone(storage.root / "lock"):
        await _build_image(storage, process, archive, "--no-cache")


def compressed_size(archive: Path) -> int:
    """Return about how many bytes of an image a registry sends."""
    counted = 0
    compressor = zlib.compressobj()
    with archive.open("rb") as file:
        while part := file.read(1 << 20):
            counted += len(compressor.compress(part))
    return counted + len(compressor.flush())


async def _build_image(storage: _Storage, process: str, archive: Path, *how: str) -> None:
    await _run(
        *storage.buildah("bud", "--quiet", "--layers", "--isolation=chroot", "--timestamp=0", *how),
        # Docker's format would have a host name of the build in it.
        *("--network=host", "--format=oci", f"--build-arg=BASE={BASE}", f"--target={process}"),
        *(f"--file={DOCKERFILE}", f"--tag={image_name(process)}", str(ROOT)),
    )
    await _run(
        *storage.buildah("push", "--quiet", image_name(process)),
        f"docker-archive:{archive}:{image_name(process)}",
    )


async def _run(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    text = output.decode(errors="replace")
    if process.returncode != 0:
        raise BuildError(f"{' '.join(command[:3])} … failed:\n{text[-4000:]}")
    return text


async def _main() -> None:
    console = Console(stderr=True)
    images = await ensure_images(ConsoleReporter(console))
    for process, archive in zip(PROCESSES, images.archives, strict=True):
        size, sent = archive.stat().st_size / 1e6, compressed_size(archive) / 1e6
        print(f"{image_name(process)}  {size:.0f} MB, {sent:.0f} MB compressed  {archive}")
    for document in images.documents:
        print(f"parts of it  {document}")


if __name__ == "__main__":
    try:
        asyncio.run(_main())
    except BuildError as error:
        raise SystemExit(f"error: {error}") from error
