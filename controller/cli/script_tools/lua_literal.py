"""Values as Lua source, for `convert`.

Invariant: the text is valid Lua 5.1 for every value JSON can express, keys included, and evaluates to the table a
script gets in the worker: nulls are absent, in arrays as in objects. Keys come sorted, so that equal values have equal
texts.
"""

import re

from controller.cli.terminal import has_control
from controller.domain.traffic.tree import Json

# fmt: off
_KEYWORDS = frozenset(
    {
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in",
        "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
    }
)
# fmt: on
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NARROW = 72


def lua_literal(value: Json, indent: int = 0) -> str:
    """The value as an expression; containers that fit in a line stay in one."""
    flat = _flat(value)
    if len(flat) + 2 * indent <= _NARROW or not isinstance(value, (dict, list)):
        return flat
    margin = "  " * (indent + 1)
    if isinstance(value, dict):
        inner = [
            f"{lua_key(key)} = {lua_literal(item, indent + 1)}"
            for key, item in sorted(value.items(), key=lambda member: member[0])
            if item is not None
        ]
    else:
        inner = [lua_literal(item, indent + 1) for item in value if item is not None]
    lines = "".join(f"{margin}{item},\n" for item in inner)
    return f"{{\n{lines}{'  ' * indent}}}"


def lua_key(key: str) -> str:
    """A key of a table constructor: without brackets and quotes if Lua allows that."""
    bare = _IDENTIFIER.match(key) is not None and key not in _KEYWORDS
    return key if bare else f"[{lua_string(key)}]"


def lua_string(text: str) -> str:
    """A string in double quotes; control characters by number."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    # Three digits: a digit may follow.
    return "".join(f"\\{byte:03d}" for byte in char.encode()) if has_control(char) else char


def _flat(value: Json) -> str:
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return lua_string(value)
        case list():
            return _braced([_flat(item) for item in value if item is not None])
        case dict():
            members = [(key, value[key]) for key in sorted(value) if value[key] is not None]
            return _braced([f"{lua_key(key)} = {_flat(item)}" for key, item in members])


def _braced(items: list[str]) -> str:
    return "{ " + ", ".join(items) + " }" if items else "{}"
