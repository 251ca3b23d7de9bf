"""Words in an address and in a header: each value is escaped for its place, or refused.

Invariant: pure. A value of others never decides which server is asked, adds no part to a path, no parameter and no
header, and leaves no folder of a path.
"""

import re
from collections.abc import Sequence
from urllib.parse import quote

from controller.domain.gates.origins import EachWord, Piece, Placed, Unplaced, joined, unfit

HOST = "it would say which address is asked"
FOLDER = "it stands for another folder of the path"
HEADER = 'in a header only printable ASCII characters without , ; | { } " and \\ may stand'
_LONGEST_DOTS = 64
"""Characters of a folder's name that are looked at: a longer one is neither `.` nor `..`."""
_BEHIND_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\\]+[/?#]")
# Without braces: two words beside each other would make the place of a Secret.
_HEADER = re.compile(r"[ !#-+\--:<-\[\]-z~]*")


def in_address(pieces: Sequence[Piece]) -> str | Unplaced:
    """The address with every word in its place; or the word that may not stand there."""
    return joined(pieces, _Address())


class _Address:
    """The place in an address: its host, a folder of its path, or the part behind the path."""

    def __init__(self) -> None:
        self._begin: list[str] = []
        self._is_behind_host = False
        self._in_path = True
        self._folder = ""
        """The begin of the present folder's name."""

    def on(self, text: str) -> None:
        """Read these characters."""
        if not self._is_behind_host:
            self._begin.append(text)
        self._in_path = self._in_path and "?" not in text and "#" not in text
        _, slash, last = text.rpartition("/")
        self._folder = ("" if slash else self._folder) + last[:_LONGEST_DOTS]
        self._folder = self._folder[:_LONGEST_DOTS]

    def put(self, placed: Placed) -> str | Unplaced:
        """The word as a part of the path or of what comes behind it."""
        if why := self._refused(placed.word.text):
            return Unplaced(placed.name, why)
        return quote(placed.word.text, safe="")

    def _refused(self, text: str) -> str:
        if why := unfit(text):
            return f"it {why}"
        if not self._is_behind_host:
            self._is_behind_host = _BEHIND_HOST.match("".join(self._begin)) is not None
        if not self._is_behind_host:
            return HOST
        folder = re.sub("%2e", ".", self._folder, flags=re.IGNORECASE)
        return FOLDER if self._in_path and not (folder + text).strip(".") else ""


def in_header(pieces: Sequence[Piece]) -> str | Unplaced:
    """The header's value with every word in its place; or the word that may not stand there."""
    return joined(pieces, EachWord(_in_header))


def _in_header(placed: Placed) -> str | Unplaced:
    text = placed.word.text
    if unfit(text) or not _HEADER.fullmatch(text):
        return Unplaced(placed.name, HEADER)
    return text
