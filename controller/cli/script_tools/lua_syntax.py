"""Finds the lines at which statements of a script begin, and the global names that it uses.

The coverage of tests and the notes of the linter need positions, which the worker does not report. The text is parsed
by tree-sitter's Lua grammar; only the worker decides whether a script compiles. Invariant: a position is the first byte
of a whole statement, so another statement can be put before it; scopes are those of the Lua 5.1 manual, section 2.6.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import tree_sitter_lua
from tree_sitter import Language, Node, Parser

_LUA = Language(tree_sitter_lua.language())
_BLOCKS = ("chunk", "block")
_NO_STATEMENTS = ("comment", "hash_bang_line", "label_statement", "empty_statement")


class NotLua(Exception):
    """The grammar cannot parse the text."""


class Position(msgspec.Struct, frozen=True):
    """A place in a script: the offset in bytes, and the line, counted from 1."""

    offset: int
    line: int


class GlobalUse(msgspec.Struct, frozen=True):
    """A name that no `local` declares, read or assigned; `called` is a read that calls it."""

    name: str
    line: int
    assigned: bool
    called: bool = False


class Syntax(msgspec.Struct, frozen=True):
    """The statements and the global names of a script."""

    statements: tuple[Position, ...]
    globals: tuple[GlobalUse, ...]


def syntax_of(source: bytes) -> Syntax:
    """Statements and global names. Raises NotLua."""
    root = Parser(_LUA).parse(source).root_node
    if root.has_error:
        raise NotLua
    scopes = _Scopes()
    scopes.walk(root)
    return Syntax(tuple(_statements(root)), tuple(scopes.globals))


def _statements(node: Node) -> Iterator[Position]:
    """Every statement; an outer statement comes before the statements inside it."""
    for child in node.named_children:
        if node.type in _BLOCKS and child.type not in _NO_STATEMENTS:
            yield Position(child.start_byte, child.start_point.row + 1)
        yield from _statements(child)


class _Scopes:
    """Walks a tree with the local names that are visible at each node."""

    def __init__(self) -> None:
        self._scopes: list[set[str]] = []
        self.globals: list[GlobalUse] = []

    @contextmanager
    def _scope(self, *names: str) -> Iterator[None]:
        self._scopes.append(set(names))
        yield
        self._scopes.pop()

    def _use(self, name: Node, *, assigned: bool = False, called: bool = False) -> None:
        text = _text(name)
        if not any(text in scope for scope in self._scopes):
            line = name.start_point.row + 1
            self.globals.append(GlobalUse(text, line, assigned, called))

    def walk(self, node: Node) -> None:
        """Note the global names at this node and below it."""
        match node.type:
            case "identifier":
                self._use(node)
            case "dot_index_expression" | "method_index_expression":
                self.walk(_part(node, "table"))
            case "field" if node.children[0].type == "identifier" and len(node.children) > 1:
                self.walk(_part(node, "value"))
            case "function_call":
                self._call(node)
            case "variable_declaration":
                self._local(node)
            case "assignment_statement":
                self._assignment(node)
            case "function_declaration" | "function_definition":
                self._function(node)
            case "for_statement" | "repeat_statement":
                self._loop(node)
            case "chunk" | "block":
                with self._scope():
                    self._all(node)
            case _:
                self._all(node)

    def _all(self, node: Node) -> None:
        for child in node.named_children:
            self.walk(child)

    def _local(self, node: Node) -> None:
        assigned = node.named_children[0]
        names = assigned
        if assigned.type == "assignment_statement":
            names = assigned.named_children[0]
            self._all(assigned.named_children[1])
        # A local is not in scope in its own initial value.
        self._scopes[-1].update(map(_text, names.named_children))

    def _assignment(self, node: Node) -> None:
        targets, values = node.named_children
        for target in targets.named_children:
            if target.type == "identifier":
                self._use(target, assigned=True)
            else:
                self.walk(target)
        self._all(values)

    def _function(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None and node.children[0].type == "local":
            self._scopes[-1].add(_text(name))
        elif name is not None and name.type == "identifier":
            self._use(name, assigned=True)
        elif name is not None:
            self.walk(name)
        method = name is not None and name.type == "method_index_expression"
        parameters = [_text(one) for one in _part(node, "parameters").named_children]
        with self._scope(*parameters, *(["self"] if method else [])):
            if (body := node.child_by_field_name("body")) is not None:
                self.walk(body)

    def _call(self, node: Node) -> None:
        if (name := _part(node, "name")).type == "identifier":
            self._use(name, called=True)
        else:
            self.walk(name)
        self.walk(_part(node, "arguments"))

    def _loop(self, node: Node) -> None:
        return self._for(node) if node.type == "for_statement" else self._repeat(node)

    def _for(self, node: Node) -> None:
        clause = _part(node, "clause")
        first, *values = clause.named_children
        names = first.named_children if first.type == "variable_list" else [first]
        for value in values:
            self.walk(value)
        with self._scope(*map(_text, names)):
            if (body := node.child_by_field_name("body")) is not None:
                self.walk(body)

    def _repeat(self, node: Node) -> None:
        # The condition sees the locals of the body.
        with self._scope():
            if (body := node.child_by_field_name("body")) is not None:
                self._all(body)
            self.walk(_part(node, "condition"))


def _part(node: Node, field: str) -> Node:
    part = node.child_by_field_name(field)
    assert part is not None, f"{node.type} has no {field}"
    return part


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
