"""Words in a text of PromQL: each value is escaped for the place where it stands.

Why a lexer: `"`, `'` and backticks have different rules, and so has a regular expression. Invariant: pure. A value of
others ends no string, begins no comment and adds no operator; as a regular expression it matches itself only. Where
that cannot be had, it is refused. Texts of the author are read, so that the places are known, and stay as they are.
"""

import re
from collections.abc import Sequence

from controller.domain.gates.origins import Origin, Piece, Placed, Unplaced, unfit

_QUOTES = "\"'`"
_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_DURATION = r"(?:[0-9]+(?:ms|[smhdwy]))+"
_BARE = re.compile(rf"{_NUMBER}|{_DURATION}|[A-Za-z_][A-Za-z0-9_:]*")
_SIGNED = re.compile(rf"[+-]{_NUMBER}")
_CALL = re.compile(r"(?:\s|#[^\n]*+(?:\n|$))*+(?:\(|(?:by|without)\b)", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_OPERATORS = frozenset(
    [
        "and",
        "or",
        "unless",
        "atan2",
        "offset",
        "smoothed",
        "anchored",
        "fill",
        "fill_left",
        "fill_right",
        "by",
        "without",
        "on",
        "ignoring",
        "bool",
        "inf",
        "nan",
        "group_left",
        "group_right",
        "start",
        "end",
        "default",
        "if",
        "ifnot",
        "keep_metric_names",
        "limit",
        "with",
    ]
)
"""Words that mean more than a name; the last ones in MetricsQL only."""
_AWAITS_A_VALUE = "=<>*/%^+-(,@"
_REGEX_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$-]")
_BACKSLASH = re.compile(r"\\(?:\\|x5c|134|u005c|U0000005c)$", re.IGNORECASE)
"""The end of a string that means a backslash, which would quote what follows in a regular expression."""

BARE = (
    "it stands outside of quotation marks, where only a number, a length of time or a single name may stand: put "
    "quotation marks around it, or correct the value"
)
FUNCTION = "it would choose a function"
ARGUMENT = (
    "it stands in a string that is no label's value, where only letters, digits, _ and - may stand"
)
AFTER_BACKSLASH = "it stands after a backslash: remove the backslash"
BACKTICK = "it holds a backtick and stands between backticks: use double quotation marks"


def in_query(pieces: Sequence[Piece]) -> str | Unplaced:
    """The query with every word in its place; or the word that may not stand in its place."""
    read, done = _Reader(), ""
    for number, piece in enumerate(pieces):
        if isinstance(piece, str):
            text = piece
        elif piece.word.origin in (Origin.AUTHOR, Origin.SECRET):
            text = piece.word.text
        elif piece.word.origin is Origin.NAME:
            text = _regex(piece.word.text) if read.regex else piece.word.text
            text = text.replace("\\", "\\\\") if read.quote != "`" else text
        else:
            found = _of_others(piece, read, _is_called(pieces[number + 1 :]))
            if isinstance(found, Unplaced):
                return found
            text = found
        read.on(text)
        done += text
    return done


def _is_called(pieces: Sequence[Piece]) -> bool:
    """Whether a function or an aggregation stands before these: `(` follows, or `by (…) (`, also behind a comment."""
    text = "".join(piece if isinstance(piece, str) else piece.word.text for piece in pieces)
    return _CALL.match(text) is not None


def _of_others(placed: Placed, read: "_Reader", called: bool) -> str | Unplaced:
    text = placed.word.text
    if why := unfit(text):
        return Unplaced(placed.name, f"it {why}")
    if read.comment:
        return text
    if not read.quote:
        why = _refused_bare(text, read.before, called)
        return Unplaced(placed.name, why) if why else text
    if why := _refused_quoted(text, read):
        return Unplaced(placed.name, why)
    if read.regex:
        text = _regex(text)
    if read.quote == "`":
        return text
    return text.replace("\\", "\\\\").replace(read.quote, f"\\{read.quote}")


def _refused_bare(text: str, before: str, called: bool) -> str:
    if text.lower() in _OPERATORS:
        return BARE
    if _BARE.fullmatch(text):
        return FUNCTION if called else ""
    awaited = not before.rstrip() or before.rstrip()[-1] in _AWAITS_A_VALUE
    return "" if awaited and _SIGNED.fullmatch(text) else BARE


def _refused_quoted(text: str, read: "_Reader") -> str:
    if read.escaped or (read.regex and read.ends_in_backslash):
        return AFTER_BACKSLASH
    if not read.is_label_value and not _PLAIN.fullmatch(text):
        return ARGUMENT
    return BACKTICK if read.quote == "`" and "`" in text else ""


def _regex(text: str) -> str:
    """A regular expression that matches this text only."""
    return _REGEX_SPECIAL.sub(lambda found: f"\\{found[0]}", text)


class _Reader:
    """The place of the next character of a query: in a string, in a comment, or outside."""

    def __init__(self) -> None:
        self.quote = ""
        """The quotation mark of the present string; empty outside of strings."""
        self.escaped = False
        self.comment = False
        self.regex = False
        self.before = ""
        """The last characters outside of strings."""
        self._string = ""
        self._open: list[str] = []

    @property
    def is_label_value(self) -> bool:
        return self._open[-1:] == ["{"]

    @property
    def ends_in_backslash(self) -> bool:
        if self.quote == "`":
            return self._string.endswith("\\")
        return _BACKSLASH.search(self._string) is not None

    def on(self, text: str) -> None:
        """Read these characters."""
        for char in text:
            if self.comment:
                self.comment = char not in "\r\n"
            elif self.quote:
                self._in_string(char)
            else:
                self._outside(char)

    def _in_string(self, char: str) -> None:
        if self.escaped:
            self.escaped = False
        elif char == "\\" and self.quote != "`":
            self.escaped = True
        elif char == self.quote:
            self.quote, self.regex = "", False
        self._string += char

    def _outside(self, char: str) -> None:
        if char == "#":
            self.comment = True
            return
        if char in _QUOTES:
            self.quote, self._string = char, ""
            self.regex = self.before.rstrip().endswith(("=~", "!~"))
        elif char in "({[":
            self._open.append(char)
        elif char in ")}]" and self._open:
            self._open.pop()
        self.before = (self.before.rstrip() if char.isspace() else self.before)[-8:] + char
