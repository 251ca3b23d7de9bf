"""Finds a definition by its name, and the one place in it that a few words name.

Why it exists: a deliberate defect that quotes a line of its source breaks whenever somebody moves the line, words it
anew or formats it otherwise. So a defect names a function and a few words of it: a variable, a function that is called,
an attribute, a text. The place is the smallest one of its sort that mentions all of these words.

Invariant: words that name no place, or several, are an error that says so; nothing is guessed.
"""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

BLOCKS = ("body", "finalbody")
"""Fields that must not be empty."""
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Unknown(Exception):
    """A deliberate defect names something that its module does not have."""


class Place(NamedTuple):
    """A node, and where it hangs in its tree."""

    parent: ast.AST
    field: str
    position: int | None

    @property
    def node(self) -> ast.AST:
        """The node that hangs there now."""
        found = getattr(self.parent, self.field)
        node: ast.AST = found if self.position is None else found[self.position]
        return node

    def put(self, *nodes: ast.AST) -> None:
        """Put other nodes there: one, or any number where the tree has a list."""
        former = self.node
        for node in nodes:
            if not hasattr(node, "lineno"):
                ast.copy_location(node, former)
            ast.fix_missing_locations(node)
        if self.position is None:
            (one,) = nodes
            setattr(self.parent, self.field, one)
            return
        siblings = getattr(self.parent, self.field)
        siblings[self.position : self.position + 1] = nodes
        if not siblings and self.field in BLOCKS:
            siblings.append(ast.copy_location(ast.Pass(), former))


def definition(tree: ast.Module, name: str) -> ast.AST:
    """The function, method, class or constant of that name: `f`, `Class.method`, `f.inner`, `TABLE`."""
    found: ast.AST = tree
    for part in name.split("."):
        inner = next((node for node in _statements(found) if _is_called(node, part)), None)
        if inner is None:
            raise Unknown(f"names a function that does not exist: {name}")
        found = inner
    return found


def names_in(tree: ast.AST, above: str = "") -> Iterator[str]:
    """Every function and class, by its full name."""
    for node in _statements(tree):
        if isinstance(node, Definition):
            yield above + node.name
            yield from names_in(node, f"{above}{node.name}.")


def words_of(node: ast.AST) -> set[str]:
    """Every name, attribute, keyword and text in it."""
    return {word for inner in ast.walk(node) if (word := _word(inner)) is not None}


def places(root: ast.AST) -> Iterator[Place]:
    """Every place below a node, without the types of arguments and results."""
    for field, value in ast.iter_fields(root):
        if field in ("annotation", "returns"):
            continue
        several = isinstance(value, list)
        for index, item in enumerate(value if several else [value]):
            if isinstance(item, ast.AST):
                yield Place(root, field, index if several else None)
                yield from places(item)


def the(root: ast.AST, words: str, sort: str, is_sort: Callable[[Place], bool]) -> Place:
    """The smallest place of a sort that mentions all words; of several the one that mentions nothing else."""
    wanted = set(words.split())
    found = [each for each in places(root) if is_sort(each) and wanted <= words_of(each.node)]
    outer = {
        id(each.node)
        for each in found
        for inner in found
        if inner.node is not each.node and any(inner.node is node for node in ast.walk(each.node))
    }
    smallest = [each for each in found if id(each.node) not in outer]
    if len(smallest) > 1:
        smallest = [each for each in smallest if words_of(each.node) == wanted] or smallest
    if len(smallest) != 1:
        shown = "".join(f"\n  {ast.unparse(each.node)}" for each in smallest)
        raise Unknown(f"names {len(smallest)} places ({sort} with {words!r}){shown}")
    return smallest[0]


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements inside it, down to the next definitions."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.stmt):
            yield inner
        if not isinstance(inner, (*Definition.__args__, ast.expr)):
            yield from _statements(inner)


def _is_called(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name == name
        case ast.Assign(targets=[ast.Name(id=target)]) | ast.AnnAssign(target=ast.Name(id=target)):
            return target == name
        case _:
            return False


def _word(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word) | ast.Constant(value=str(word)):
            return word
        case ast.keyword(arg=word):
            return word
        case _:
            return None
