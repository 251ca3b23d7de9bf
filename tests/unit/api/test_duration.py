"""Lengths of time are read wholly or not at all, and every sum with them can be computed."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.duration import LONGEST, later, of_seconds, parse_duration


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", timedelta()),
        ("30s", timedelta(seconds=30)),
        ("1h30m", timedelta(minutes=90)),
        ("250ms", timedelta(milliseconds=250)),
        ("999999999999999h", LONGEST),
        ("5", None),
        ("5 m", None),
        ("1d", None),
        ("-5m", None),
        ("5m!", None),
        ("5m\n", None),
        (f"{'9' * 5000}s", None),
    ],
)
def test_a_length_is_read_whole(text: str, length: timedelta | None) -> None:
    assert parse_duration(text) == length


@given(
    number=st.integers() | st.floats(allow_nan=False), instant=st.datetimes(timezones=st.just(UTC))
)
def test_every_number_of_seconds_after_any_instant_is_an_instant(
    number: float, instant: datetime
) -> None:
    length = of_seconds(number)
    assert abs(length) <= LONGEST
    assert (later(instant, length) >= instant) == (length >= timedelta())


def test_an_ordinary_sum_is_exact() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert later(now, of_seconds(90)) == datetime(2026, 1, 1, 0, 1, 30, tzinfo=UTC)
    assert later(datetime(9999, 12, 31, tzinfo=UTC), LONGEST).year == 9999
    assert later(datetime(1, 1, 1, tzinfo=UTC), -LONGEST).year == 1
