"""The scripts and modules that came with the product, known by their hashes.

Trust is not a field of a request: a script is *packaged* when its SHA-256 is that of a file in the product's own
`lua_configuration/`, and each module that travels with it is, by name and text, a file of the `library` in there. A
script of ours with a module of somebody else's is somebody else's. The folder lies beside this package, in a checkout
as in an installed wheel.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from luaworker.wire import Module

FOLDER = Path(__file__).resolve().parent.parent / "lua_configuration"
LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class Packaged:
    """Hashes of scripts, and of modules by name."""

    scripts: frozenset[bytes] = frozenset()
    modules: Mapping[bytes, bytes] | None = None

    def trusts(self, script: bytes, modules: Iterable[Module]) -> bool:
        """Whether the script, given by its hash, and all that travels with it are ours."""
        known = self.modules or {}
        return script in self.scripts and all(
            known.get(module.name) == module.digest for module in modules
        )


def hashes(folder: Path = FOLDER) -> Packaged:
    """Of everything that is packaged; nothing where the folder is not installed."""
    library = folder / LIBRARY
    return Packaged(
        frozenset(_hash(path) for path in folder.rglob("*.lua") if library not in path.parents),
        {path.stem.encode(): _hash(path) for path in library.glob("*.lua")},
    )


def _hash(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()
