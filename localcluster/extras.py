"""Programs beside the control plane, built when first asked for: workload controllers, gateways, judges of types.

Why it exists: few tests need them, and nobody else should wait for their compilation. Invariant: each has a folder of
the cache with a key of its own, complete or absent, with the program and the manifests that its module publishes; so
changing one rebuilds no other. It must not start anything.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.build import cache_root
from localcluster.compile import Program, compile_program, locked, module_folder
from localcluster.progress import Reporter, SilentReporter
from localcluster.toolchain import GoToolchain, ensure_go, needed_version


@dataclass(frozen=True, slots=True)
class Extra:
    """A program and what is kept of its modules' sources: module path → files or folders in it."""

    name: str
    program: Program
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def key(self) -> str:
        """Return the hash of everything the program is built from."""
        built = (self.program.package, self.program.linker_flags)
        tags = (self.program.tags,) if self.program.tags else ()
        kind = ("test",) if self.program.is_test else ()
        digest = hashlib.sha256(repr((*built, *tags, *kind)).encode())
        digest.update(repr(sorted(self.kept.items())).encode())
        module = self.program.module
        for path in sorted((module / "go.mod", module / "go.sum", *module.rglob("*.go"))):
            digest.update(f"\0{path.relative_to(module)}\0".encode() + path.read_bytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class BuiltExtra:
    """An extra's folder in the cache."""

    extra: Extra
    folder: Path

    @property
    def binary(self) -> Path:
        """The program."""
        return self.folder / self.extra.name

    def source(self, module: str, path: str) -> Path:
        """Return a kept file or folder of a module's sources."""
        return self.folder / "kept" / module / path


def place_of(extra: Extra) -> BuiltExtra:
    """Return the path of the extra, built or not."""
    return BuiltExtra(extra, cache_root() / f"{extra.name}-{extra.key()}")


async def ensure_extra(extra: Extra, reporter: Reporter | None = None) -> BuiltExtra:
    """Return the extra, building it unless the cache has it."""
    reporter = reporter or SilentReporter()
    built = place_of(extra)
    if built.folder.is_dir():
        return built
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    async with locked(root / f"{built.folder.name}.lock", reporter):
        if not built.folder.is_dir():
            go = await ensure_go(root, reporter, needed_version(extra.program.module))
            reporter.note(f"building {extra.program.title} into {built.folder}")
            await _build_into(built, go, reporter)
    return built


async def _build_into(built: BuiltExtra, go: GoToolchain, reporter: Reporter) -> None:
    extra = built.extra
    parent = built.folder.parent
    partial = Path(tempfile.mkdtemp(prefix=f"{built.folder.name}.partial-", dir=parent))
    try:
        await compile_program(go, extra.program, partial / extra.name, reporter)
        for module, paths in extra.kept.items():
            sources = await module_folder(go, extra.program.module, module)
            for path in paths:
                _keep(sources / path, partial / "kept" / module / path)
        _publish(partial, built.folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _publish(partial: Path, folder: Path) -> None:
    partial.chmod(0o755)
    partial.rename(folder)


def _keep(source: Path, target: Path) -> None:
    """Copy out of the module cache, which is read-only and may be cleaned at any time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, copy_function=shutil.copyfile)
        for folder in (target, *(p for p in target.rglob("*") if p.is_dir())):
            folder.chmod(0o755)
    else:
        shutil.copyfile(source, target)
