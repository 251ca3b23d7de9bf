r"""Regular expressions about the text of a page, in time that its author cannot stretch.

Why not Python's `re`: it goes back and tries again, so that `(a|a)*b` or `a?a?…aa…` takes hours, even without nested
quantifiers, and a gate's author would stop the gates of everybody. Here all ways through the expression are followed at
the same time. Invariant: pure; the time is at most the product of the sizes of the expression and the text, and both
are bounded. The syntax is a part of RE2's, with RE2's meaning: `^` and `$` are the ends of the text, `.` is no line
break, and classes such as `\d` are ASCII. A syntax that is not known here is refused, never guessed.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, assert_never

from controller.api.re2 import why_not_re2

LONGEST_PATTERN = 256
LONGEST_TEXT = 1024
"""Characters of a text that an expression reads."""
LARGEST = 256
"""Steps of an expression when its repetitions are written out."""
DEEPEST = 20
_LAST = 0x10FFFF
Ranges = tuple[tuple[int, int], ...]
"""Characters from one number to another, both included, in order."""

_REPETITION = re.compile(r"(?:([*+?])|\{(\d+)(,(\d+)?)?\})\??")
_GROUP = re.compile(r"\((?:\?(?:P?<\w+>|:))?", re.ASCII)
_CODE = re.compile(r"x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,8})\})")
_SETS: dict[str, Ranges] = {
    "d": ((48, 57),),
    "s": ((9, 10), (12, 13), (32, 32)),
    "w": ((48, 57), (65, 90), (95, 95), (97, 122)),
}
_CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}


class Take(NamedTuple):
    """One character of these."""

    ranges: Ranges


class Start(NamedTuple):
    """The beginning of the text."""


class End(NamedTuple):
    """The end of the text."""


class Row(NamedTuple):
    """One part after the other."""

    parts: tuple["Node", ...]


class Either(NamedTuple):
    """One of these."""

    options: tuple["Node", ...]


class Repeated(NamedTuple):
    """A part, so many times; `most` is None without a limit."""

    part: "Node"
    least: int
    most: int | None


Node = Take | Start | End | Row | Either | Repeated


class Fork(NamedTuple):
    """Go on at each of these places."""

    places: tuple[int, ...]


Step = Take | Start | End | Fork


class Expression(NamedTuple):
    """An expression that can be searched for; the place behind the last step is the end of a match."""

    steps: tuple[Step, ...]

    def found_in(self, text: str) -> bool:
        """Whether a part of the text matches. Sets of places are numbers, one bit for each place."""
        found = 1 << len(self.steps)
        reached = self._reached(1, start=True, end=not text)
        onward: dict[int, int] = {}
        takers: dict[str, int] = {}
        for at, char in enumerate(text, 1):
            if reached & found:
                return True
            if char not in takers:
                takers[char] = self._takers(ord(char))
            # A match may also begin here, so the first place is always among them.
            places = (reached & takers[char]) << 1 | 1
            if at == len(text):
                reached = self._reached(places, start=False, end=True)
                continue
            reached = 0
            for place in _places(places):
                if place not in onward:
                    onward[place] = self._reached(1 << place, start=False, end=False)
                reached |= onward[place]
        return bool(reached & found)

    def _takers(self, code: int) -> int:
        """The places that take this character."""
        return sum(
            1 << place
            for place, step in enumerate(self.steps)
            if isinstance(step, Take) and any(low <= code <= high for low, high in step.ranges)
        )

    def _reached(self, places: int, *, start: bool, end: bool) -> int:
        """The places, and all to which no character leads."""
        new = list(_places(places))
        while new:
            place = new.pop()
            step = self.steps[place] if place < len(self.steps) else None
            onward: tuple[int, ...] = ()
            if isinstance(step, Fork):
                onward = step.places
            elif (isinstance(step, Start) and start) or (isinstance(step, End) and end):
                onward = (place + 1,)
            fresh = [one for one in onward if not places >> one & 1]
            places |= sum(1 << one for one in set(fresh))
            new += fresh
        return places


def _places(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def expression(pattern: str) -> Expression | str:
    """The expression, or why it cannot be used."""
    if len(pattern) > LONGEST_PATTERN:
        return f"an expression has {LONGEST_PATTERN} characters at most"
    if why := why_not_re2(pattern):
        return why
    parser = _Parser(pattern)
    whole = parser.either()
    if parser.problem:
        return parser.problem
    if _size(whole) > LARGEST:
        return f"it is too large: it has more than {LARGEST} parts when its repetitions are written out"
    return Expression(tuple(_steps(whole, 0)))


def _size(node: Node) -> int:
    """The number of steps."""
    match node:
        case Row():
            return sum(map(_size, node.parts))
        case Either():
            return 1 + sum(_size(option) + 1 for option in node.options)
        case Repeated():
            size = _size(node.part)
            more = size + 2 if node.most is None else (node.most - node.least) * (size + 1)
            return node.least * size + more
        case Take() | Start() | End():
            return 1
        case other:
            assert_never(other)


def _steps(node: Node, at: int) -> list[Step]:
    """The steps of a part that begins at this place."""
    match node:
        case Row():
            made: list[Step] = []
            for part in node.parts:
                made += _steps(part, at + len(made))
            return made
        case Either():
            return _forked(node, at)
        case Repeated():
            return _written_out(node, at)
        case Take() | Start() | End():
            return [node]
        case other:
            assert_never(other)


def _forked(node: Either, at: int) -> list[Step]:
    begins = [at + 1]
    for option in node.options:
        begins.append(begins[-1] + _size(option) + 1)
    made: list[Step] = [Fork(tuple(begins[:-1]))]
    for option, begin in zip(node.options, begins, strict=False):
        made += [*_steps(option, begin), Fork((begins[-1],))]
    return made


def _written_out(node: Repeated, at: int) -> list[Step]:
    made: list[Step] = []
    for _ in range(node.least):
        made += _steps(node.part, at + len(made))
    if node.most is None:
        begin = at + len(made)
        part = _steps(node.part, begin + 1)
        end = begin + len(part) + 2
        return [*made, Fork((begin + 1, end)), *part, Fork((begin,))]
    end = at + _size(node)
    for _ in range(node.most - node.least):
        begin = at + len(made)
        made += [Fork((begin + 1, end)), *_steps(node.part, begin + 1)]
    return made


class _Parser:
    """One pattern that RE2 can compile, read from left to right; `problem` says what is not known here."""

    def __init__(self, pattern: str) -> None:
        self.problem = ""
        self._text = pattern
        self._at = 0
        self._depth = 0

    def either(self) -> Node:
        """Everything up to the end of the group."""
        options = [self._row()]
        while self._next() == "|":
            self._at += 1
            options.append(self._row())
        return Either(tuple(options)) if len(options) > 1 else options[0]

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _row(self) -> Node:
        parts: list[Node] = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated())
        return Row(tuple(parts))

    def _repeated(self) -> Node:
        part = self._part()
        found = _REPETITION.match(self._text, self._at)
        if found is None:
            return part
        self._at = found.end()
        if found[1]:
            return Repeated(part, int(found[1] == "+"), 1 if found[1] == "?" else None)
        least = int(found[2])
        most = int(found[4]) if found[4] else (None if found[3] else least)
        return Repeated(part, least, most)

    def _part(self) -> Node:
        char = self._next()
        if char == "(":
            return self._group()
        self._at += 1
        match char:
            case "[":
                return Take(self._class())
            case "\\" if self._next() in ("A", "z"):
                self._at += 1
                return Start() if self._text[self._at - 1] == "A" else End()
            case "\\":
                return Take(self._escaped())
            case ".":
                return Take(_complement(((10, 10),)))
            case "^":
                return Start()
            case "$":
                return End()
            case _:
                return Take(((ord(char), ord(char)),))

    def _group(self) -> Node:
        found = _GROUP.match(self._text, self._at)
        assert found is not None, "it begins with a parenthesis"
        if found[0] == "(" and self._text.startswith("(?", self._at):
            return Row(self._refused("flags such as (?i) are not known here"))
        self._depth += 1
        if self._depth > DEEPEST:
            return Row(self._refused(f"groups are nested more than {DEEPEST} deep"))
        self._at = found.end()
        inner = self.either()
        self._at += 1
        self._depth -= 1
        return inner

    def _refused(self, why: str) -> tuple[()]:
        """Nothing; the rest is not read."""
        self.problem = self.problem or why
        self._at = len(self._text)
        return ()

    def _escaped(self) -> Ranges:
        """The characters that an escape means, behind its backslash."""
        char = self._next()
        if char.lower() in _SETS:
            self._at += 1
            found = _SETS[char.lower()]
            return found if char.islower() else _complement(found)
        if (code := _CODE.match(self._text, self._at)) is not None:
            self._at = code.end()
            number = int(code[1] or code[2], 16)
        elif char in _CONTROLS or not char.isalnum():
            self._at += 1
            number = _CONTROLS.get(char, ord(char))
        else:
            return self._refused(f"\\{char} is not known here")
        return ((number, number),)

    def _class(self) -> Ranges:
        negated = self._next() == "^"
        self._at += negated
        ranges: list[tuple[int, int]] = []
        first = True
        while not self.problem and (first or self._next() != "]"):
            ranges += self._in_class()
            first = False
        self._at += 1
        found = _merged(ranges)
        return _complement(found) if negated else found

    def _in_class(self) -> Ranges:
        if self._text.startswith("[:", self._at):
            return self._refused("classes such as [:alpha:] are not known here")
        low = self._one_of_class()
        is_range = self._next() == "-" and not self._text.startswith("-]", self._at)
        if not is_range or len(low) != 1 or low[0][0] != low[0][1]:
            return low
        self._at += 1
        high = self._one_of_class()
        return ((low[0][0], high[0][1]),) if high else ()

    def _one_of_class(self) -> Ranges:
        char = self._next()
        self._at += 1
        return self._escaped() if char == "\\" else ((ord(char), ord(char)),)


def _merged(ranges: list[tuple[int, int]]) -> Ranges:
    """The same characters, in order and each once."""
    made: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if made and low <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(high, made[-1][1]))
        else:
            made.append((low, high))
    return tuple(made)


def _complement(ranges: Ranges) -> Ranges:
    """All other characters."""
    edges = ((-1, -1), *ranges, (_LAST + 1, _LAST + 1))
    between = ((left[1] + 1, right[0] - 1) for left, right in pairwise(edges))
    return tuple((low, high) for low, high in between if low <= high)
