"""Percentages of pods and shares of traffic: only the form that the API server knows is one."""

import pytest

from controller.api.quantity import parse_count, parse_percent, parse_share

VERY_LONG = "9" * 5000
"""More digits than Python reads into an integer."""


@pytest.mark.parametrize("written", ["20", "20%\n", " 20%", "٢٠%", "2.5%", "-1%", f"{VERY_LONG}%"])
def test_no_other_spelling_is_a_percentage(written: str) -> None:
    assert parse_percent(written) is None


@pytest.mark.parametrize("written", ["20", "20%\n", "٢٠%", "0.125%", "101%", f"{VERY_LONG}%"])
def test_no_other_spelling_is_a_share(written: str) -> None:
    assert parse_share(written) is None


def test_a_percentage_of_pods_may_be_more_than_all_of_them() -> None:
    assert (parse_percent("150%"), parse_share("12.25%")) == (150, 12.25)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("17", 17),
        ("9" * 18, 10**18 - 1),
        ("9" * 5000, None),
        ("-1", None),
        ("", None),
        ("٣", None),
        ("1\n", None),
    ],
)
def test_a_count_in_an_annotation_is_short_and_plain(text: str, number: int | None) -> None:
    assert parse_count(text) == number
