"""The changes that a deliberate defect makes: a condition is never met, an argument is left out, a call is forgotten.

Each change is made by a function whose name and arguments read like the defect. `words` names the place
(`tests/mutations/places.py`); values are written as Python. A change works on the syntax tree, so that a comment, a
line break or another place of the same function does not break it.

A change must not guess: words that name no place or several are an error.
"""

import ast
from collections.abc import Callable

from tests.mutations.places import Place, Unknown, places, the, words_of

Change = Callable[[ast.AST], None]

OPERATORS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
    "is": ast.Is,
    "is not": ast.IsNot,
    "in": ast.In,
    "not in": ast.NotIn,
}


def returns(value: str, words: str = "") -> Change:
    """The function returns a value at once. With words: the `return` that mentions them has another value."""

    def change(root: ast.AST) -> None:
        if words:
            the(root, words, "a return", _is_return).put(ast.Return(_expression(value)))
        else:
            assert isinstance(root, ast.FunctionDef | ast.AsyncFunctionDef)
            documented = ast.get_docstring(root) is not None
            root.body.insert(int(documented), ast.Return(_expression(value)))
            ast.fix_missing_locations(root)

    return change


def never(words: str) -> Change:
    """The condition that mentions the words is never met."""
    return lambda root: _settle(root, the(root, words, "a condition", _is_condition), met=False)


def always(words: str) -> Change:
    """The condition that mentions the words is always met."""
    return lambda root: _settle(root, the(root, words, "a condition", _is_condition), met=True)


def negated(words: str) -> Change:
    """The condition, or the part of it, that mentions the words is turned into its contrary."""

    def change(root: ast.AST) -> None:
        place = the(root, words, "a condition", _is_part_of_condition)
        match place.node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                place.put(operand)
            case node:
                assert isinstance(node, ast.expr)
                place.put(ast.UnaryOp(ast.Not(), node))

    return change


def without(words: str) -> Change:
    """A part is left out: of `and` and `or`, of arithmetic, of a list or a table, an argument, a condition."""

    def change(root: ast.AST) -> None:
        place = the(root, words, "a part", _is_part)
        parent, index = place.parent, place.position
        if isinstance(parent, ast.BinOp):
            other = parent.left if place.field == "right" else parent.right
            _place_of(root, parent).put(other)
            return
        assert index is not None
        if isinstance(parent, ast.Dict):
            del parent.keys[index], parent.values[index]
            return
        place.put()
        if isinstance(parent, ast.BoolOp) and len(parent.values) == 1:
            _place_of(root, parent).put(parent.values[0])

    return change


def only(words: str) -> Change:
    """Of `and`, `or`, arithmetic, a choice or a call's arguments, the part that mentions the words is all."""

    def change(root: ast.AST) -> None:
        place = the(root, words, "a part", _is_operand)
        _place_of(root, place.parent).put(place.node)

    return change


def removed(words: str) -> Change:
    """The statement that mentions the words is left out."""
    return lambda root: the(root, words, "a statement", _is_statement).put()


def compares(words: str, operator: str) -> Change:
    """The comparison that mentions the words has another operator."""

    def change(root: ast.AST) -> None:
        found = the(root, words, "a comparison", lambda at: isinstance(at.node, ast.Compare)).node
        assert isinstance(found, ast.Compare)
        (before,) = found.ops
        found.ops = [OPERATORS[operator]()]
        assert type(before) is not type(found.ops[0])

    return change


def becomes(words: str, value: str) -> Change:
    """The smallest expression that mentions the words becomes another: a name, a call, an argument by its keyword.

    `it` in the new expression is the former one.
    """

    def change(root: ast.AST) -> None:
        place = the(root, words, "an expression", _is_expression)
        if isinstance(place.parent, ast.Call) and place.field == "func":
            place = _place_of(root, place.parent)
        if isinstance(place.node, ast.keyword):
            place = Place(place.node, "value", None)
        place.put(_with_it(_expression(value), place.node))

    return change


def assigns(name: str, value: str) -> Change:
    """The name is assigned another value."""

    def change(root: ast.AST) -> None:
        def assigns_it(at: Place) -> bool:
            match at.node:
                case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                    return name == ast.unparse(target)
                case ast.AugAssign(target=target):
                    return name == ast.unparse(target)
                case _:
                    return False

        Place(the(root, "", f"an assignment of {name}", assigns_it).node, "value", None).put(
            _expression(value)
        )

    return change


def condition(words: str, value: str) -> Change:
    """The condition that mentions the words becomes another. `it` in the new one is the former one."""

    def change(root: ast.AST) -> None:
        place = the(root, words, "a condition", _is_condition)
        place.put(_with_it(_expression(value), place.node))

    return change


def swapped(first: str, second: str) -> Change:
    """Two elements of one sequence change their places."""

    def change(root: ast.AST) -> None:
        def at(sequence: ast.AST, words: str) -> int | None:
            wanted, elements = set(words.split()), getattr(sequence, "elts", ())
            found = [n for n, each in enumerate(elements) if wanted <= words_of(each)]
            return found[0] if len(found) == 1 else None

        def has_both(place: Place) -> bool:
            one, other = at(place.node, first), at(place.node, second)
            return one is not None and other is not None and one != other

        sequence = the(root, f"{first} {second}", "a sequence", has_both).node
        one, other = at(sequence, first), at(sequence, second)
        assert one is not None
        assert other is not None
        elements = getattr(sequence, "elts", [])
        elements[one], elements[other] = elements[other], elements[one]

    return change


def does(words: str, statement: str) -> Change:
    """The statement that mentions the words becomes another."""
    return lambda root: the(root, words, "a statement", _is_statement).put(
        *ast.parse(statement).body
    )


def before(words: str, statement: str) -> Change:
    """A statement comes before the one that mentions the words."""

    def change(root: ast.AST) -> None:
        place = the(root, words, "a statement", _is_statement)
        place.put(*ast.parse(statement).body, place.node)

    return change


def after(words: str, statement: str) -> Change:
    """A statement comes after the one that mentions the words."""

    def change(root: ast.AST) -> None:
        place = the(root, words, "a statement", _is_statement)
        place.put(place.node, *ast.parse(statement).body)

    return change


def within(words: str, inner: Change) -> Change:
    """A change of the one statement that mentions the words: its own words need not be the only ones."""
    return lambda root: _inside(the(root, words, "a statement", _is_statement), inner)


def in_condition(words: str, inner: Change) -> Change:
    """A change of the one condition that mentions the words."""
    return lambda root: _inside(the(root, words, "a condition", _is_condition), inner)


def at_key(key: str, inner: Change) -> Change:
    """A change of the entry of a table that has this key."""

    def change(root: ast.AST) -> None:
        found = [
            Place(table, "values", index)
            for table in ast.walk(root)
            if isinstance(table, ast.Dict)
            for index, written in enumerate(table.keys)
            if written is not None and key in words_of(written)
        ]
        if len(found) != 1:
            raise Unknown(f"names {len(found)} entries with the key {key}")
        _inside(found[0], inner)

    return change


def _inside(place: Place, inner: Change) -> None:
    """Make a change that sees this node only."""
    match place.node:
        case ast.stmt() as statement:
            block = ast.Module([statement], [])
            inner(block)
            place.put(*block.body)
        case node:
            assert isinstance(node, ast.expr)
            alone = ast.Expression(node)
            inner(alone)
            place.put(alone.body)


def _settle(root: ast.AST, decided: Place, *, met: bool) -> None:
    match decided.parent:
        case ast.If(body=body, orelse=orelse) as statement:
            _place_of(root, statement).put(*(body if met else orelse))
        case ast.IfExp(body=one, orelse=other) as choice:
            _place_of(root, choice).put(one if met else other)
        case _:
            decided.put(ast.Constant(met))


def _place_of(root: ast.AST, node: ast.AST) -> Place:
    return next(each for each in places(root) if each.node is node)


class _It(ast.NodeTransformer):
    def __init__(self, it: ast.expr) -> None:
        self._it = it

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._it if node.id == "it" else node


def _with_it(value: ast.expr, it: ast.AST) -> ast.expr:
    assert isinstance(it, ast.expr)
    changed: ast.expr = _It(it).visit(value)
    return changed


def _expression(value: str) -> ast.expr:
    return ast.parse(value, mode="eval").body


def _is_return(at: Place) -> bool:
    return isinstance(at.node, ast.Return)


def _is_statement(at: Place) -> bool:
    return isinstance(at.node, ast.stmt)


def _is_condition(at: Place) -> bool:
    return at.field in ("test", "ifs")


def _is_part_of_condition(at: Place) -> bool:
    return _is_condition(at) or (isinstance(at.parent, ast.BoolOp) and at.field == "values")


def _is_operand(at: Place) -> bool:
    match at.parent:
        case ast.BoolOp() | ast.BinOp() | ast.Call():
            return at.field in ("values", "left", "right", "args")
        case ast.IfExp():
            return at.field in ("body", "orelse")
        case _:
            return False


def _is_part(at: Place) -> bool:
    match at.parent:
        case ast.BoolOp():
            return at.field == "values"
        case ast.Dict():
            return at.field in ("keys", "values")
        case ast.BinOp():
            return at.field in ("left", "right")
        case _:
            return at.field in ("elts", "args", "keywords", "ifs")


def _is_expression(at: Place) -> bool:
    return isinstance(at.node, ast.expr | ast.keyword) and not isinstance(
        getattr(at.node, "ctx", None), ast.Store
    )
