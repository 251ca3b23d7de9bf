"""The script library: modules that a script asks for by a line of its header, `--@use weights, conditions`.

Invariant: a name means the same module in every installation of one version: nobody can add or change one. Modules
that a module needs itself are sent before it, hidden from the script.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec

from controller.domain.traffic.plan.header import parse_header

FOLDER = "library"
"""Of the packaged scripts' folder."""


class Module(msgspec.Struct, frozen=True):
    """A part of the library. `hidden`: another module asks for it, the script does not."""

    name: str
    text: bytes
    hidden: bool = False


class UnknownModule(msgspec.Struct, frozen=True):
    """A name in `--@use` that the library does not have; the reason says which names it has."""

    reason: str


class Modules:
    """The packaged library, read once."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        """`texts` by name. A module that another one asks for must be among them, without a circle."""
        self._texts = dict(sorted(texts.items()))
        self._uses = {name: parse_header(text.decode()).uses for name, text in self._texts.items()}

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The modules below the packaged scripts' folder; blocking."""
        return cls({path.stem: path.read_bytes() for path in (folder / FOLDER).glob("*.lua")})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all modules."""
        return tuple(self._texts)

    def asked_for(self, uses: tuple[str, ...]) -> tuple[Module, ...] | UnknownModule:
        """The modules to send with a script that asks for these; each module comes after the modules that it uses
        itself."""
        for name in uses:
            if name not in self._texts:
                known = ", ".join(self._texts) or "no module at all"
                return UnknownModule(
                    f"it asks for the module {name} (--@use), which this version does not have; it has {known}"
                )
        ordered: list[str] = []
        for name in uses:
            self._visit(name, ordered)
        return tuple(Module(name, self._texts[name], name not in uses) for name in ordered)

    def _visit(self, name: str, ordered: list[str]) -> None:
        if name in ordered:
            return
        for other in self._uses[name]:
            self._visit(other, ordered)
        ordered.append(name)
