"""Which pinned packages each process needs: lock files without development tools.

Why it exists: an image should hold the packages that its process imports and nothing else. Invariant: every pin and
hash is one of `requirements.lock`; the content of a lock file follows from the imports of the sources and from the
requirements of the packages. `python -m demo.cluster.locks` writes the files. It must not reach a network.
"""

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
FOLDER = ROOT / "deploy" / "docker"
PROCESSES: Mapping[str, tuple[str, ...]] = {
    "controller": ("controller", "lua_configuration", "protos/luaworker"),
    "luaworker": ("luaworker", "protos/luaworker"),
}
"""Process → folders of its sources."""
BUILD = "build"
BUILD_PACKAGES = ("setuptools",)
OURS = frozenset({"controller", "luaworker", "protos", "lua_configuration", "deploy"})
OPTIONAL = frozenset({"opentelemetry"})
"""Imported only on request: extras of the project, in no image."""
# Several packages have a part of `google`; the generated code needs this one.
SHARED: Mapping[str, str] = {"google": "protobuf"}


def lock_file(name: str) -> Path:
    """Return the path of a process' lock file, or of the build's."""
    return FOLDER / f"requirements-{name}.lock"


def lock_files() -> dict[Path, str]:
    """Return each lock file with its text."""
    pins = _pins(LOCK.read_text())
    found = {name: _closure(_packages(folders)) for name, folders in PROCESSES.items()}
    found[BUILD] = set(BUILD_PACKAGES)
    return {lock_file(name): _text(pins, packages) for name, packages in found.items()}


def _packages(folders: Iterable[str]) -> set[str]:
    """Return the packages whose modules the sources import."""
    providers = packages_distributions()
    imported = {name for folder in folders for name in _imports(ROOT / folder)}
    imported -= OURS | OPTIONAL | sys.stdlib_module_names
    return {SHARED.get(name) or providers[name][0] for name in imported}


def _imports(folder: Path) -> set[str]:
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.partition(".")[0])
    return found


def _closure(names: Iterable[str]) -> set[str]:
    """Return the packages with everything they require."""
    found: set[str] = set()
    to_see = list(names)
    while to_see:
        name = _normal(to_see.pop())
        if name in found:
            continue
        found.add(name)
        for line in requires(name) or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                to_see.append(requirement.name)
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pins(text: str) -> dict[str, str]:
    """Return each package's lines: the pin and its hashes, without comments."""
    pins: dict[str, str] = {}
    for part in re.split(r"^(?=[a-z])", text, flags=re.MULTILINE):
        if found := re.match(r"([a-z0-9-]+)==", part):
            lines = [line for line in part.splitlines() if not line.lstrip().startswith("#")]
            pins[found[1]] = "\n".join(lines).rstrip()
    return pins


def _text(pins: Mapping[str, str], packages: Iterable[str]) -> str:
    head = "# Made from requirements.lock by `python -m demo.cluster.locks`; not to be edited.\n"
    return head + "".join(f"{pins[name]}\n" for name in sorted(packages))


if __name__ == "__main__":
    for path, text in lock_files().items():
        path.write_text(text)
