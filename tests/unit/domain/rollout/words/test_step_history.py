"""Visits of steps: opened, ready once, closed once."""

from controller.api.rollout import StepVisit
from controller.domain.rollout.words.step_history import closed, opened, ready
from tests.unit.builders import NOW
from tests.unit.domain.rollout.scenes import seconds

LATER = NOW + seconds(5)


def test_a_step_is_ready_once_and_left_once() -> None:
    visits = ready(opened((), 1, NOW), LATER)
    assert visits == (StepVisit(1, NOW, LATER),)
    assert ready(visits, LATER + seconds(1)) == visits
    left = closed(visits, LATER)
    assert left == (StepVisit(1, NOW, LATER, LATER),)
    assert closed(left, LATER + seconds(1)) == left
    assert ready(closed(opened((), 1, NOW), LATER), LATER) == (StepVisit(1, NOW, None, LATER),)


def test_a_release_of_an_older_version_has_no_visits() -> None:
    assert ready((), NOW) == ()
    assert closed((), NOW) == ()


def test_opening_one_leaves_the_one_before() -> None:
    assert opened(opened((), 1, NOW), 3, LATER) == (
        StepVisit(1, NOW, None, LATER),
        StepVisit(3, LATER),
    )
