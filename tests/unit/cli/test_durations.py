from datetime import timedelta

import click
import pytest

from controller.cli.durations import DURATION


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("5m", 300), ("1h30m", 5400), ("0", 0), ("250ms", 0.25)]
)
def test_durations_are_read_as_kubectl_writes_them(text: str, seconds: float) -> None:
    assert DURATION.convert(text, None, None) == timedelta(seconds=seconds)


def test_a_duration_stays_one() -> None:
    assert DURATION.convert(timedelta(seconds=1), None, None) == timedelta(seconds=1)


@pytest.mark.parametrize("text", ["", "soon", "5 m", "-3s", "5x", "٣", "²"])
def test_other_spellings_of_a_duration_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="no duration"):
        DURATION.convert(text, None, None)


@pytest.mark.parametrize("text", ["9" * 20, "9" * 5000, "40000d"])
def test_a_duration_without_a_date_at_its_end_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="more than a century"):
        DURATION.convert(text, None, None)
