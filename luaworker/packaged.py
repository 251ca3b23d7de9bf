"""The scripts and modules that came with the product, known by their hashes.

Trust is not a field of a request: a script is *packaged* when its SHA-256 is that of a file in the product's own
`lua_configuration/`, and each module that is sent with it is, by name and text, a file of the `library` in there. A
packaged script with a foreign module counts as foreign. The folder is next to this package, in a checkout and in an
installed wheel.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from luaworker.fingerprint import fingerprint
from luaworker.wire import Module

FOLDER = Path(__file__).resolve().parent.parent / "lua_configuration"
LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class Packaged:
    """Hashes of scripts, and of modules by name."""

    scripts: frozenset[bytes] = frozenset()
    modules: Mapping[bytes, bytes] | None = None
    library: int = -1  # fingerprint of the modules
    texts: Mapping[bytes, bytes] | None = None  # of the modules

    def digest(self, name: bytes, text: bytes) -> bytes:
        """The hash of a module's text. For our own modules it is looked up, because comparing texts is faster than
        hashing."""
        if self.texts is not None and self.modules is not None and self.texts.get(name) == text:
            return self.modules[name]
        return hashlib.sha256(text).digest()

    def has(self, name: bytes, digest: bytes) -> bool:
        """Whether this text is our module of that name."""
        return self.modules is not None and self.modules.get(name) == digest

    def trusts(self, script: bytes, modules: Iterable[Module]) -> bool:
        """Whether the script (given by its hash) and all its modules are ours."""
        return script in self.scripts and all(
            self.has(module.name, module.digest) for module in modules
        )


def hashes(folder: Path = FOLDER) -> Packaged:
    """The hashes of everything that is packaged; none if the folder is not installed."""
    library = folder / LIBRARY
    texts = {path.stem.encode(): path.read_bytes() for path in library.glob("*.lua")}
    scripts = (path.read_bytes() for path in folder.rglob("*.lua") if library not in path.parents)
    return Packaged(
        frozenset(hashlib.sha256(part).digest() for text in scripts for part in _chunks(text)),
        {name: hashlib.sha256(text).digest() for name, text in texts.items()},
        fingerprint(texts.items()),
        texts,
    )


def _chunks(text: bytes) -> tuple[bytes, ...]:
    """The parts of a script as the controller sends them (its `traffic/plan/chunks`): each is a script of its own."""
    first, line, rest = text.partition(b"\n--@taken\n")
    if not line:
        return (text,)
    return first + b"\n", b"\n" * (first.count(b"\n") + 2) + rest
