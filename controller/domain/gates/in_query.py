"""Words in a text of PromQL: each value is escaped for the place where it stands.

Why a lexer: `"`, `'` and backticks have different rules, and so has a regular expression. Invariant: pure. A value of
others ends no string, begins no comment and adds no operator; as a regular expression it matches itself only. Where
that cannot be had, it is refused. Texts of the author are read, so that the places are known, and stay as they are.
"""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate

from controller.domain.gates.origins import Origin, Piece, Placed, Unplaced, unfit

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_DURATION = r"(?:[0-9]+(?:ms|[smhdwy]))+"
_BARE = re.compile(rf"{_NUMBER}|{_DURATION}|[A-Za-z_][A-Za-z0-9_:]*")
_SIGNED = re.compile(rf"[+-]{_NUMBER}")
_CALL = re.compile(r"(?:\s|#[^\r\n]*+)*+(?:\(|(?:by|without)\b)", re.IGNORECASE)
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
_LINE_END = re.compile(r"[\r\n]")
_IN_STRING = {
    '"': re.compile(r'(?:[^"\\]+|\\.)*+', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]+|\\.)*+", re.DOTALL),
    "`": re.compile("[^`]*+"),
}
_BEGIN = re.compile(r"[#\"'`]")
_BRACKETS = re.compile(r"[(){}\[\]]")
_LAST = 16
"""Characters that say how a string ends so far; more than any spelling of a backslash."""
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
    written = _Written(pieces)
    read, done = _Reader(), list[str]()
    for number, piece in enumerate(pieces):
        found = _in_place(piece, read, written, number)
        if isinstance(found, Unplaced):
            return found
        read.on(found)
        done.append(found)
    return "".join(done)


def _in_place(piece: Piece, read: "_Reader", written: "_Written", number: int) -> str | Unplaced:
    if isinstance(piece, str):
        return piece
    if piece.word.origin in (Origin.AUTHOR, Origin.SECRET):
        return piece.word.text
    if piece.word.origin is Origin.NAME:
        text = _regex(piece.word.text) if read.regex else piece.word.text
        return text.replace("\\", "\\\\") if read.quote != "`" else text
    return _of_others(piece, read, written, number)


class _Written:
    """The query with every word as it is: for a look at the text behind a word."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        texts = [piece if isinstance(piece, str) else piece.word.text for piece in pieces]
        self._text = "".join(texts)
        self._ends = list(accumulate(map(len, texts)))

    def is_called(self, number: int) -> bool:
        """Whether this piece is a function or an aggregation: `(` follows, or `by (…) (`, also behind a comment."""
        return _CALL.match(self._text, self._ends[number]) is not None


def _of_others(placed: Placed, read: "_Reader", written: _Written, number: int) -> str | Unplaced:
    text = placed.word.text
    if why := unfit(text):
        return Unplaced(placed.name, f"it {why}")
    if read.comment:
        return text
    if not read.quote:
        why = _refused_bare(text, read.before, lambda: written.is_called(number))
        return Unplaced(placed.name, why) if why else text
    if why := _refused_quoted(text, read):
        return Unplaced(placed.name, why)
    if read.regex:
        text = _regex(text)
    if read.quote == "`":
        return text
    return text.replace("\\", "\\\\").replace(read.quote, f"\\{read.quote}")


def _refused_bare(text: str, before: str, is_called: Callable[[], bool]) -> str:
    if text.lower() in _OPERATORS:
        return BARE
    if _BARE.fullmatch(text):
        return FUNCTION if is_called() else ""
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
    """The place of the next character of a query: in a string, in a comment, or outside.

    It reads each character once, and keeps the last ones only.
    """

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
        at = 0
        while at < len(text):
            if self.comment:
                at = self._in_comment(text, at)
            elif self.quote:
                at = self._in_string(text, at)
            else:
                at = self._outside(text, at)

    def _in_comment(self, text: str, at: int) -> int:
        end = _LINE_END.search(text, at)
        self.comment = end is None
        return end.end() if end else len(text)

    def _in_string(self, text: str, at: int) -> int:
        """Read to the end of the string; returns where that is."""
        begin = at + 1 if self.escaped else at
        self.escaped = False
        read = _IN_STRING[self.quote].match(text, begin)
        end = read.end() if read else begin
        if end < len(text):
            if text[end] == self.quote:
                self.quote, self.regex = "", False
            else:
                self.escaped = True
            end += 1
        self._string = (self._string + text[max(at, end - _LAST) : end])[-_LAST:]
        return end

    def _outside(self, text: str, at: int) -> int:
        """Read to the begin of a string or a comment; returns where its content begins."""
        found = _BEGIN.search(text, at)
        passed = text[at : found.start() if found else len(text)]
        self._pass(passed)
        for bracket in _BRACKETS.findall(passed):
            if bracket in "({[":
                self._open.append(bracket)
            elif self._open:
                self._open.pop()
        if found is None:
            return len(text)
        if found[0] == "#":
            self.comment = True
        else:
            self.quote, self._string = found[0], ""
            self.regex = self.before.rstrip().endswith(("=~", "!~"))
            self._pass(found[0])
        return found.end()

    def _pass(self, text: str) -> None:
        if text:
            last = text[-1] if text[-1].isspace() else ""
            self.before = (self.before + text).rstrip()[-8:] + last
