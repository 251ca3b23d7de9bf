"""Compares the conditions that a pass writes with those before it: only a changed condition gets a new time."""

from datetime import UTC, datetime, timedelta

from controller.domain.conditions import (
    Conditions,
    find_condition,
    set_condition,
    settled_conditions,
)

EARLIER = datetime(2026, 1, 1, tzinfo=UTC)
NOW = EARLIER + timedelta(minutes=1)
BEFORE = set_condition((), "Stalled", "True", "Why", "because", EARLIER)


def passed(reason: str, message: str) -> Conditions:
    """A pass decides False, and True again when an action is refused."""
    decided = set_condition(BEFORE, "Stalled", "False", "", "", NOW)
    return set_condition(decided, "Stalled", "True", reason, message, NOW)


def test_a_condition_that_returns_after_a_pass_keeps_its_transition_time() -> None:
    found = find_condition(settled_conditions(BEFORE, passed("Why", "another word")), "Stalled")
    assert found is not None
    assert (found.last_update_time, found.last_transition_time) == (NOW, EARLIER)


def test_a_condition_with_the_same_content_after_a_pass_is_the_same_object() -> None:
    assert settled_conditions(BEFORE, passed("Why", "because")) == BEFORE
