"""Each change does what its name says at the place that its words name, and nowhere else; it never guesses."""

import ast
import textwrap

import pytest

from tests.mutations.changes import (
    Change,
    after,
    always,
    assigns,
    at_key,
    becomes,
    before,
    compares,
    condition,
    does,
    in_condition,
    negated,
    never,
    only,
    removed,
    returns,
    swapped,
    within,
    without,
)
from tests.mutations.mutation import Mutation, mutated
from tests.mutations.places import Unknown, definition

SOURCE = textwrap.dedent("""
    class Box:
        def size(self, given: Given) -> int:
            '''How large it is.'''
            if self.closed:
                return 0
            for part in (self.old, self.new):
                self.seen.append(part)
            wide = min(given.wide, self.most)
            return wide if wide > 0 and not self.broken else inner(wide, at=given.now)

    def inner(wide, at):
        def deep():
            return wide
        return deep()

    TABLE = {"one": ((A, f), (B, f)), "two": ((A, f),)}
""")
TABLE: dict[str, tuple[Change, str, str]] = {
    "the function returns a value at once": (
        returns("1"),
        "'''How large it is.'''\n        if",
        "'''How large it is.'''\n        return 1\n        if",
    ),
    "a condition is never met": (
        never("closed"),
        "if self.closed:\n            return 0\n        ",
        "",
    ),
    "a condition is always met": (
        always("closed"),
        "if self.closed:\n            return 0\n",
        "return 0\n",
    ),
    "a choice is always the first": (
        always("broken"),
        "wide if wide > 0 and not self.broken else inner(wide, at=given.now)",
        "wide",
    ),
    "a condition is turned": (negated("closed"), "if self.closed", "if not self.closed"),
    "a part of a condition is turned": (negated("broken"), "not self.broken", "self.broken"),
    "a condition becomes another": (
        condition("closed", "it and given"),
        "if self.closed",
        "if self.closed and given",
    ),
    "an operand is left out": (without("broken"), " and not self.broken", ""),
    "an argument is left out": (without("at"), ", at=given.now", ""),
    "an element is left out": (without("old"), "(self.old, self.new)", "(self.new,)"),
    "an argument is all": (only("most"), "min(given.wide, self.most)", "self.most"),
    "a statement is left out": (removed("append"), "self.seen.append(part)", "pass"),
    "a comparison has another operator": (compares("wide", "<"), "wide > 0", "wide < 0"),
    "a call becomes a value": (becomes("min", "3"), "min(given.wide, self.most)", "3"),
    "an argument becomes another": (becomes("at", "None"), "at=given.now", "at=None"),
    "an assignment has another value": (
        assigns("wide", "3"),
        "min(given.wide, self.most)",
        "3",
    ),
    "two elements change places": (
        swapped("old", "new"),
        "(self.old, self.new)",
        "(self.new, self.old)",
    ),
    "a statement becomes another": (does("append", "stop()"), "self.seen.append(part)", "stop()"),
    "a statement comes before": (
        before("append", "stop()"),
        "self.seen.append(part)",
        "stop()\n            self.seen.append(part)",
    ),
    "a statement comes after": (
        after("append", "stop()"),
        "self.seen.append(part)",
        "self.seen.append(part)\n            stop()",
    ),
    "a change within one statement": (
        within("min", becomes("wide", "3")),
        "min(given.wide",
        "min(3",
    ),
    "a change within one condition": (
        in_condition("broken", without("wide")),
        "wide > 0 and not self.broken",
        "not self.broken",
    ),
}


@pytest.mark.parametrize("what", TABLE)
def test_a_change_does_what_it_is_named_for(what: str) -> None:
    change, old, new = TABLE[what]
    tree = ast.parse(SOURCE)
    change(definition(tree, "Box.size"))
    assert SOURCE.count(old) == 1
    assert ast.unparse(tree) == ast.unparse(ast.parse(SOURCE.replace(old, new)))


def test_an_entry_of_a_table_is_changed_alone() -> None:
    tree = ast.parse(SOURCE)
    at_key("one", without("A f"))(definition(tree, "TABLE"))
    assert ast.unparse(tree).endswith("TABLE = {'one': ((B, f),), 'two': ((A, f),)}")


def test_a_return_is_named_by_its_words() -> None:
    tree = ast.parse(SOURCE)
    returns("1", "deep")(definition(tree, "inner"))
    assert ast.unparse(definition(tree, "inner")).endswith("return 1")


def test_a_function_within_a_function_has_both_names() -> None:
    assert ast.unparse(definition(ast.parse(SOURCE), "inner.deep")).endswith("return wide")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (never("open"), "names 0 places (a condition with 'open')"),
        (becomes("wide", "3"), "names 3 places (an expression with 'wide')"),
        (at_key("three", without("A")), "names 0 entries with the key three"),
    ],
)
def test_words_that_name_no_place_or_several_are_an_error(change: Change, said: str) -> None:
    with pytest.raises(Unknown) as raised:
        change(definition(ast.parse(SOURCE), "Box.size"))
    assert said in str(raised.value)


def test_a_function_that_went_elsewhere_is_named_with_its_new_module() -> None:
    gone = Mutation("a defect", "controller.domain.conditions", "decide_release", never("x"), ())
    with pytest.raises(Unknown) as raised:
        mutated(gone)
    said = "'a defect' of controller.domain.conditions names a function that does not exist: "
    assert str(raised.value).startswith(
        f"{said}decide_release; there is controller.domain.rollout."
    )


def test_a_method_whose_class_has_another_name_is_found() -> None:
    gone = Mutation("a defect", "controller.runtime.fence", "Gate.check", never("x"), ())
    with pytest.raises(Unknown, match=r"there is .*controller\.runtime\.fence\.Fence\.check"):
        mutated(gone)


def test_a_line_that_is_moved_and_formatted_otherwise_breaks_nothing() -> None:
    before = ast.parse(SOURCE)
    moved = ast.parse(
        SOURCE.replace("return 0", "\n\n            # as it was\n            return (\n0)")
    )
    for tree in (before, moved):
        never("closed")(definition(tree, "Box.size"))
    assert ast.dump(before) == ast.dump(moved)
