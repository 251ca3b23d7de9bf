"""How long work may take."""

import pytest

from controller.domain.work_deadline import Deadline, deadline_of
from tests.unit.builders import NOW
from tests.unit.domain.rollout.scenes import seconds


@pytest.mark.parametrize(("later", "exceeded"), [(0, False), (9.9, False), (10, True), (11, True)])
def test_work_is_stuck_when_its_time_is_over(later: float, exceeded: bool) -> None:
    answer = deadline_of(NOW, 10, NOW + seconds(later))
    assert answer == Deadline(NOW + seconds(10), exceeded)


def test_no_deadline_is_never_over() -> None:
    assert deadline_of(NOW, None, NOW + seconds(10**6)) is None


def test_a_start_that_is_not_known_counts_as_now() -> None:
    assert deadline_of(None, 10, NOW) == Deadline(NOW + seconds(10), False)
