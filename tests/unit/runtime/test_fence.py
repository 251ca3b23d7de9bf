"""A write of the leader passes as long as the Lease counts, judged at that instant."""

import pytest

from controller.errors import LostLease
from controller.runtime.fence import Fence


class ManualClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def test_a_process_that_never_led_may_not_write() -> None:
    with pytest.raises(LostLease, match="does not lead"):
        Fence(ManualClock()).check()


def test_writes_pass_until_the_instant_that_was_given_and_not_after_it() -> None:
    clock = ManualClock()
    fence = Fence(clock)
    fence.open(110.0)
    clock.at = 110.0
    fence.check()
    clock.at = 112.5
    with pytest.raises(LostLease, match=r"has not counted for 2\.5 s"):
        fence.check()


def test_a_renewal_lets_writes_pass_again_and_the_end_does_not() -> None:
    clock = ManualClock()
    fence = Fence(clock)
    fence.open(90.0)
    fence.open(110.0)
    fence.check()
    fence.close()
    with pytest.raises(LostLease):
        fence.check()
