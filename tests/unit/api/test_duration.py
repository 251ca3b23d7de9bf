"""Lengths of time are read wholly or not at all."""

from datetime import timedelta

import pytest

from controller.api.duration import LONGEST, parse_duration


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
    ],
)
def test_a_length_is_read_whole(text: str, length: timedelta | None) -> None:
    assert parse_duration(text) == length
