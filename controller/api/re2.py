r"""Reads a regular expression as RE2 does, and says what RE2 does not know.

Why: Envoy refuses the whole route configuration of a port because of one such expression, and from then on no change of
any route arrives there. Python's own parser is of no use: RE2 has no look-around and no back references, and knows
syntax that Python lacks (`\pL`, `\Q…\E`, `[[:alpha:]]`, flags in the middle). Invariant: what Go's regexp refuses, with
which Istio validates, is refused here (names of scripts in `\p{…}` aside); syntax that only RE2's C++ has (`\C`), too.
"""

import re
from collections.abc import Generator, Iterator

MOST_REPEATED = 1000
"""RE2's own limit, also for repetitions within repetitions."""
DEEPEST = 1000
_REPETITION = re.compile(r"([*+?]|\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\})\??")
_GROUP = re.compile(
    r"\((?:\?(?:P?<(?P<name>\w+)>|(?P<flags>[imsU]*(?:-[imsU]+)?)(?P<end>[:)])))?", re.ASCII
)
_LOOKS = re.compile(r"\(\?(<?[=!]|>|\(|&|R|\d|P[=>])")
_ESCAPE = re.compile(
    r"\\(?:[pP](?:\{\^?(\w+)\}|[CLMNPSZ])|x(?:[0-9A-Fa-f]{2}|\{([0-9A-Fa-f]{1,8})\})|0[0-7]{0,2}|[1-7][0-7]{1,2}"
    r"|[dDsSwWafnrtv]|[\x00-/:-@\[-`{-\x7f])"
)
_ANCHOR = re.compile(r"\\[AbBz]")
_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|\Z)", re.DOTALL)
_NAMED = re.compile(r"\[:\^?(\w+):\]")
_NAMES = (
    *("alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph"),
    *("lower", "print", "punct", "space", "upper", "word", "xdigit"),
)
_SEVERAL = re.compile(r"\\[pPdDsSwW]")
_CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_LAST = 0x10FFFF


def why_not_re2(pattern: str) -> str | None:
    """What RE2 does not know in the pattern; None if it can compile it."""
    return next(_Reading(pattern).problems(), None)


class _Reading:
    """One pattern, read from left to right."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._groups = [1]
        """For each open group: how often its most repeated part is repeated."""
        self._names: set[str] = set()
        self._last: int | None = None
        """How often the part before this place is repeated already; None if there is nothing to repeat."""

    def problems(self) -> Iterator[str]:
        while self._at < len(self._text):
            yield from self._part()
        if len(self._groups) > 1:
            yield "a group is not closed"

    def _part(self) -> Iterator[str]:
        character = self._text[self._at]
        repetition = _REPETITION.match(self._text, self._at)
        if repetition is not None:
            yield from self._repeated(repetition)
        elif character == "(":
            yield from self._opened()
        elif character == ")":
            yield from self._closed()
        elif character == "[":
            yield from self._class()
        elif character == "\\":
            yield from self._escaped()
        else:
            self._at += 1
            self._last = None if character == "|" else 1

    def _repeated(self, found: re.Match[str]) -> Iterator[str]:
        if self._last is None:
            yield f"nothing to repeat before {found[0]}"
        least, most = int(found[2] or 0), int(found[4] or found[2] or 1)
        if found[4] and least > most:
            yield f"{found[0]} is no repetition"
        self._last = max(1, most) * (self._last or 1)
        if self._last > MOST_REPEATED:
            yield f"{found[0]} repeats more than {MOST_REPEATED} times"
        self._groups[-1] = max(self._groups[-1], self._last)
        self._at = found.end()
        if (again := _REPETITION.match(self._text, self._at)) is not None:
            yield f"{found[0]}{again[0]} repeats a repetition"

    def _opened(self) -> Iterator[str]:
        found = _GROUP.match(self._text, self._at)
        assert found is not None, "it begins with a parenthesis"
        if found[0] == "(" and self._text.startswith("(?", self._at):
            if (looks := _LOOKS.match(self._text, self._at)) is not None:
                yield f"{looks[0]}: look-around, recursion and atomic groups"
            yield f"{self._text[self._at : self._at + 3]} begins no group"
        if found["name"] in self._names:
            yield f"two groups are named {found['name']}"
        self._names |= {found["name"]} - {None}
        self._at = found.end()
        if found["end"] == ")":
            return
        self._groups.append(1)
        self._last = None
        if len(self._groups) > DEEPEST:
            yield f"groups are nested more than {DEEPEST} deep"

    def _closed(self) -> Iterator[str]:
        if len(self._groups) == 1:
            yield "a group is closed that was not opened"
        self._at += 1
        self._last = self._groups.pop()
        self._groups[-1] = max(self._groups[-1], self._last)

    def _escaped(self) -> Iterator[str]:
        if (quoted := _QUOTED.match(self._text, self._at)) is not None:
            self._at = quoted.end()
            self._last = 1 if quoted[1] else self._last
            return
        if (anchor := _ANCHOR.match(self._text, self._at)) is not None:
            self._at = anchor.end()
        else:
            yield from self._character_escaped()
        self._last = 1

    def _character_escaped(self) -> Iterator[str]:
        found = _ESCAPE.match(self._text, self._at)
        if found is None:
            written = self._text[self._at : self._at + 2]
            refers = written[1:].isdigit() or written[1:] in ("g", "k")
            yield f"{written} is {'a back reference' if refers else 'no escape'}"
        elif found[2] and int(found[2], 16) > _LAST:
            yield f"{found[0]} is no character"
        else:
            self._at = found.end()

    def _class(self) -> Iterator[str]:
        begun = self._at
        self._at += 2 if self._text.startswith("[^", self._at) else 1
        first = True
        while self._at < len(self._text) and (first or self._text[self._at] != "]"):
            yield from self._in_class()
            first = False
        if self._at >= len(self._text):
            yield f"{self._text[begun : begun + 10]} has no closing bracket"
        self._at += 1
        self._last = 1

    def _in_class(self) -> Iterator[str]:
        if (named := _NAMED.match(self._text, self._at)) is not None:
            if named[1] not in _NAMES:
                yield f"{named[0]} is no class"
            self._at = named.end()
            return
        if _SEVERAL.match(self._text, self._at):
            yield from self._character_escaped()
            return
        low = yield from self._one()
        if not self._text.startswith("-", self._at) or self._text.startswith("-]", self._at):
            return
        self._at += 1
        if self._at >= len(self._text):
            return
        if _SEVERAL.match(self._text, self._at):
            yield "a range ends with a class"
        high = yield from self._one()
        if high < low:
            yield "a range ends before it begins"

    def _one(self) -> Generator[str, None, int]:
        """One character of a class, and its number."""
        begun = self._at
        if self._text[begun] != "\\":
            self._at += 1
            return ord(self._text[begun])
        yield from self._character_escaped()
        return _number_of(self._text[begun + 1 : self._at])


def _number_of(escaped: str) -> int:
    """The character that an escape stands for, without its backslash."""
    if escaped[0] == "x":
        return int(escaped[1:].strip("{}"), 16)
    if escaped[0].isdigit():
        return int(escaped, 8)
    return _CONTROLS.get(escaped, ord(escaped))
