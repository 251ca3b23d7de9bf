"""Lua 5.1, word by word: where each token of a script stands.

Invariant: total on scripts that the worker compiles; what is no Lua ends in `NotLua`, never in a wrong position.
Offsets are in characters of the text, lines count from 1.
"""

import re

import msgspec

KEYWORDS = frozenset(
    {
        "and",
        "break",
        "do",
        "else",
        "elseif",
        "end",
        "false",
        "for",
        "function",
        "if",
        "in",
        "local",
        "nil",
        "not",
        "or",
        "repeat",
        "return",
        "then",
        "true",
        "until",
        "while",
    }
)

_TOKEN = re.compile(
    r"(?P<skip>[ \t\r\n\f\v]+)"
    r"|(?P<comment>--)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>0[xX][0-9A-Fa-f]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<long>\[=*\[)"
    r"|(?P<string>[\"'])"
    r"|(?P<symbol>\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}\[\];:,.])"
)
_QUOTED = {
    '"': re.compile(r'"(?:[^"\\\n]|\\(?:\r\n|.))*"', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\\n]|\\(?:\r\n|.))*'", re.DOTALL),
}
_LONG = re.compile(r"\[(=*)\[")


class NotLua(Exception):
    """The text is not Lua 5.1, as far as can be told here."""


class Token(msgspec.Struct, frozen=True):
    """`kind` is name, keyword, number, string, symbol or end; `text` is empty for strings."""

    kind: str
    text: str
    offset: int
    line: int


def tokens_of(source: str) -> list[Token]:
    """All tokens, with one of kind `end` behind the last."""
    found: list[Token] = []
    # The engine skips a first line that begins with a hash sign.
    at = source.find("\n") if source.startswith("#") else 0
    at = len(source) if at < 0 else at
    line = 1
    while at < len(source):
        matched = _TOKEN.match(source, at)
        if matched is None:
            raise NotLua(f"line {line}: unexpected {source[at]!r}")
        kind = matched.lastgroup or ""
        after = _end_of(source, at, kind, matched, line)
        if kind not in ("skip", "comment"):
            text = matched.group() if kind not in ("long", "string") else ""
            found.append(Token(_kind(kind, text), text, at, line))
        line += source.count("\n", at, after)
        at = after
    return [*found, Token("end", "", len(source), line)]


def _kind(kind: str, text: str) -> str:
    if kind == "long":
        return "string"
    return "keyword" if kind == "name" and text in KEYWORDS else kind


def _end_of(source: str, at: int, kind: str, matched: re.Match[str], line: int) -> int:
    """Where the token that begins at `at` ends."""
    match kind:
        case "comment":
            if (long := _LONG.match(source, at + 2)) is not None:
                return _end_of_long(source, long, line)
            newline = source.find("\n", at)
            return len(source) if newline < 0 else newline
        case "long":
            return _end_of_long(source, matched, line)
        case "string":
            quoted = _QUOTED[matched.group()].match(source, at)
            if quoted is None:
                raise NotLua(f"line {line}: unfinished string")
            return quoted.end()
        case _:
            return matched.end()


def _end_of_long(source: str, opening: re.Match[str], line: int) -> int:
    closing = "]" + "=" * (len(opening.group()) - 2) + "]"
    end = source.find(closing, opening.end())
    if end < 0:
        raise NotLua(f"line {line}: unfinished long string or comment")
    return end + len(closing)
