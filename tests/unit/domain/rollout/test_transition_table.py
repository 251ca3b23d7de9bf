"""The document's table of states and disturbances agrees with the decisions."""

from tests.unit.domain.rollout.transition_table import (
    DISTURBANCES,
    RANKED,
    STATES,
    ranked,
    table,
    written,
)


def test_the_document_has_the_decision_for_every_state_and_disturbance() -> None:
    played = table().splitlines()
    assert len(played) == 2 + len(STATES) * len(DISTURBANCES)
    found = written().splitlines()
    assert found == played, "docs/states.md is out of date: make generate writes its table anew"


def test_the_document_has_the_disturbances_in_the_order_of_the_decisions() -> None:
    assert written(RANKED) == ranked(), (
        "docs/states.md is out of date: make generate writes it anew"
    )


def test_a_rollback_outranks_a_pause_and_a_deletion_both() -> None:
    rows = ranked().splitlines()
    ranks = [
        next(number for number, row in enumerate(rows) if words in row)
        for words in ("Rollout is deleted", "rollback", "`spec.strategy.paused`", "The step itself")
    ]
    assert ranks == sorted(ranks)
