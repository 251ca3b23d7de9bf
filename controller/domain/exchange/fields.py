"""Reads the fields of a table that a script returned, and keeps the first mistake with its place.

Why: the message `ask[1].headrs: there is no such field` shows the author the place. Invariant: reading never
raises; a field that is not what it should be reads as if it were left out, and the mistake is kept. An empty Lua table
is a list and a table of names alike.
"""

import math

from controller.domain.decision.value import Value
from controller.domain.traffic.tree import Json, Tree


class Refused(Value, frozen=True):
    """The answer of a script cannot be used: where, and why."""

    place: str
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}" if self.place else self.why


class Fields:
    """The fields of one table; tables inside of it share its mistakes."""

    def __init__(self, tree: Tree, place: str = "", mistakes: list[Refused] | None = None) -> None:
        self.tree = tree
        self.place = place
        self.mistakes: list[Refused] = [] if mistakes is None else mistakes

    @property
    def first_mistake(self) -> Refused | None:
        """The first one that was kept."""
        return self.mistakes[0] if self.mistakes else None

    def place_of(self, name: str) -> str:
        """Where a field is."""
        return f"{self.place}.{name}" if self.place else name

    def refuse(self, name: str, why: str) -> None:
        """Keep a mistake in a field."""
        self.mistakes.append(Refused(self.place_of(name), why))

    def has(self, name: str) -> bool:
        """Whether the field is there."""
        return self.tree.get(name) is not None

    def only(self, *known: str) -> None:
        """Every other field is a mistake."""
        for name in self.tree:
            if name not in known:
                self.refuse(name, f"there is no such field; there are {', '.join(known)}")

    def text(self, name: str, *, most: int) -> str:
        """A text of a length, empty if it is left out."""
        found = self.tree.get(name)
        if found is None:
            return ""
        if not isinstance(found, str):
            self.refuse(name, f"it is {kind_of(found)}, and should be a text")
            return ""
        if len(found) > most:
            self.refuse(name, f"it has {len(found)} characters, and may have {most}")
            return ""
        return found

    def number(self, name: str, least: float, most: float) -> float | None:
        """A number within bounds, None if it is left out."""
        found = self.tree.get(name)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float):
            self.refuse(name, f"it is {kind_of(found)}, and should be a number")
            return None
        if not (math.isfinite(found) and least <= found <= most):
            self.refuse(name, f"it is {found:g}, and may be {least:g} to {most:g}")
            return None
        return found

    def table(self, name: str) -> "Fields | None":
        """A table of names, None if it is left out."""
        found = self.tree.get(name)
        if found is None:
            return None
        if found == []:
            found = {}
        if not isinstance(found, dict):
            self.refuse(name, f"it is {kind_of(found)}, and should be a table of names")
            return None
        return Fields(found, self.place_of(name), self.mistakes)

    def items(self, name: str, least: int, most: int) -> tuple[Json, ...]:
        """The items of a list that has from `least` to `most` of them."""
        found = self.tree.get(name)
        if found == {}:
            found = []
        if not isinstance(found, list):
            self.refuse(name, f"it is {kind_of(found)}, and should be a list")
            return ()
        if not least <= len(found) <= most:
            wanted = f"{least} to {most}" if least != most else f"{least}"
            self.refuse(name, f"it has {len(found)} items, and may have {wanted}")
            return ()
        return tuple(found)

    def pairs(self, name: str, most: int) -> tuple[tuple[str, str], ...]:
        """Names and texts in order of the names; a list gives its name several times."""
        table = self.table(name)
        if table is None:
            return ()
        found: list[tuple[str, str]] = []
        for key, value in sorted(table.tree.items()):
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dict | list) or item is None:
                    table.refuse(key, f"it is {kind_of(item)}, and should be a text or a number")
                else:
                    found.append((key, as_text(item)))
        if len(found) > most:
            self.refuse(name, f"it has {len(found)} names, and may have {most}")
        return tuple(found)


def kind_of(value: Json) -> str:
    """The kind of a value, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list) else "a table"


def as_text(value: bool | int | float | str) -> str:
    """A value as it stands in a query, a header or a form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)
