"""docs/trouble.md agrees with the table, and the table has an answer for every trouble in every form."""

import inspect

import pytest

from tests.trouble import why
from tests.trouble.document import DOCUMENT, document
from tests.trouble.forms import FORMS
from tests.trouble.rows import TROUBLES
from tests.trouble.table import Message, Trouble


def test_the_document_agrees_with_the_table() -> None:
    assert DOCUMENT.read_text() == document(), "run `make generate`"


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.name)
def test_every_kind_and_style_has_an_answer_or_a_reason(trouble: Trouble) -> None:
    assert [form.name for form in trouble.missing] == []
    reasons = [
        *trouble.except_for.values(),
        *(r for row in trouble.rows for r in row.derived.values()),
    ]
    assert all(len(reason.split()) > 3 for reason in reasons)


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.name)
def test_every_row_has_the_facts_and_the_remedy(trouble: Trouble) -> None:
    for row in trouble.rows:
        assert inspect.getdoc(row.scenario), row.scenario
        assert row.do, row.scenario
        assert row.played, row.scenario
        assert {*row.often, *row.killed} <= {*row.played} <= {*FORMS}
        assert all(text.strip() == text and text for item in row.says for text in [item.text])


def test_troubles_have_names_of_their_own() -> None:
    assert len({trouble.name for trouble in TROUBLES}) == len(TROUBLES)


@pytest.mark.parametrize(
    ("heard", "same"),
    [
        (Message("Stalled X", "Service test-1/shop does not exist"), True),
        (Message("Stalled X", "Service  does not exist"), False),
        (Message("Stalled X", "Service test-1/shop does not exist, so what"), False),
        (Message("message", "Service test-1/shop does not exist"), False),
    ],
)
def test_a_sentence_is_found_whole_and_where_it_was_promised(heard: Message, same: bool) -> None:
    assert Message("Stalled X", "Service <namespace>/shop does not exist").same_as(heard) is same


def test_only_commands_that_change_something_have_to_be_run_in_the_scenario() -> None:
    lines = [
        "is stalled by X: kubectl moonshift undo shop",
        "kubectl get pods -n <namespace>  # which pods there are",
        "kubectl edit service shop -n <namespace>  # correct its selector",
        "kubectl moonshift undo shop -n <namespace>  # go back to the old version",
    ]
    assert why.changing(lines) == ["kubectl edit service shop", "kubectl moonshift undo shop"]
