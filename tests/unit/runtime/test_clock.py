"""A machine's clock that is set moves no timer at once, and the date is right again after a while."""

import logging
from datetime import UTC, datetime, timedelta

import pytest

from controller.runtime.clock import MADE_UP, SystemClock

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = 3600.0
PAUSE = timedelta(minutes=30)


class Machine:
    """Time that passes, and a date that people set."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.set_by = 0.0
        self.clock = SystemClock(self.wall, lambda: self.passed)

    def wall(self) -> float:
        return START.timestamp() + self.passed + self.set_by

    def wait(self, seconds: float, *, looks: int = 1) -> datetime:
        """Let time pass, and read the clock several times."""
        for _ in range(looks):
            self.passed += seconds / looks
            self.clock.now()
        return self.clock.now()


def test_the_date_is_the_machines() -> None:
    machine = Machine()
    assert machine.clock.now() == START
    assert machine.wait(HOUR) == START + timedelta(hours=1)


@pytest.mark.parametrize("looks", [1, 1000])
@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_timed_pause_lasts_its_time_when_the_clock_is_set_by_an_hour(
    jump: float, looks: int
) -> None:
    machine = Machine()
    since = machine.clock.now()
    machine.set_by = jump
    short = PAUSE.total_seconds() * (1 - 2 * MADE_UP)
    assert machine.wait(short, looks=looks) - since < PAUSE
    long = PAUSE.total_seconds() * 4 * MADE_UP
    assert machine.wait(long, looks=looks) - since > PAUSE


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_the_date_is_right_again_after_a_while_and_never_goes_back(jump: float) -> None:
    machine = Machine()
    machine.set_by = jump
    instant = machine.clock.now()
    for _ in range(100):
        instant, before = machine.wait(HOUR / MADE_UP / 50), instant
        assert instant > before
    assert instant.timestamp() == pytest.approx(machine.wall())


def test_a_small_correction_is_taken_over_within_seconds() -> None:
    machine = Machine()
    machine.set_by = 0.2
    assert machine.wait(10).timestamp() == pytest.approx(machine.wall())


def test_a_jump_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine()
    machine.set_by = HOUR
    with caplog.at_level(logging.WARNING):
        machine.wait(60, looks=5)
    (record,) = caplog.records
    assert record.getMessage() == "the clock jumped: timers go on"
