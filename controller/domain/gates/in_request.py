"""Words in an address and in a header: each value is escaped for its place, or refused.

Invariant: pure. A value of others never decides which server is asked, adds no part to a path, no parameter and no
header, and leaves no folder of a path.
"""

import re
from collections.abc import Sequence
from urllib.parse import quote

from controller.domain.gates.origins import Piece, Placed, Unplaced, joined, unfit

HOST = "it would say which address is asked"
FOLDER = "it stands for another folder of the path"
HEADER = 'in a header only printable ASCII characters without , ; | { } " and \\ may stand'
_BEHIND_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\\]+[/?#]")
# Without braces: two words beside each other would make the place of a Secret.
_HEADER = re.compile(r"[ !#-+\--:<-\[\]-z~]*")


def in_address(pieces: Sequence[Piece]) -> str | Unplaced:
    """The address with every word in its place; or the word that may not stand there."""
    return joined(pieces, _in_address)


def _in_address(placed: Placed, before: str) -> str | Unplaced:
    if why := _refused(placed.word.text, before):
        return Unplaced(placed.name, why)
    return quote(placed.word.text, safe="")


def _refused(text: str, before: str) -> str:
    if why := unfit(text):
        return f"it {why}"
    if not _BEHIND_HOST.match(before):
        return HOST
    in_path = "?" not in before and "#" not in before
    segment = re.sub("%2e", ".", before.rpartition("/")[2], flags=re.IGNORECASE)
    return FOLDER if in_path and not (segment + text).strip(".") else ""


def in_header(pieces: Sequence[Piece]) -> str | Unplaced:
    """The header's value with every word in its place; or the word that may not stand there."""
    return joined(pieces, _in_header)


def _in_header(placed: Placed, _: str) -> str | Unplaced:
    text = placed.word.text
    if unfit(text) or not _HEADER.fullmatch(text):
        return Unplaced(placed.name, HEADER)
    return text
