"""The document's table of states and disturbances agrees with the decisions."""

from tests.unit.domain.rollout.transition_table import DISTURBANCES, STATES, table, written


def test_the_document_has_the_decision_for_every_state_and_disturbance() -> None:
    played = table().splitlines()
    assert len(played) == 2 + len(STATES) * len(DISTURBANCES)
    found = written().splitlines()
    assert found == played, "docs/states.md is out of date: make generate writes its table anew"
