"""Granted tokens are bounded in number and in age, for each namespace and in all."""

import math

import pytest

from controller.outbound.tokens import EARLY, IN_ALL, OF_NAMESPACE, OLDEST, Tokens


def test_a_token_is_used_until_shortly_before_its_end() -> None:
    tokens = Tokens()
    tokens.keep("q", "shop", "t", 100, now=10)
    assert tokens.get("q", 10 + 100 - EARLY - 1) == "t"
    assert tokens.get("q", 10 + 100 - EARLY) is None
    assert tokens.get("other", 10) is None
    tokens.drop("q")
    assert tokens.get("q", 11) is None


@pytest.mark.parametrize("seconds", [1e300, math.inf])
def test_no_token_is_kept_for_ever(seconds: float) -> None:
    tokens = Tokens()
    tokens.keep("q", "shop", "t", seconds, now=0)
    assert tokens.get("q", OLDEST - 1) == "t"
    tokens.keep("else", "shop", "t", 60, now=OLDEST)
    assert len(tokens) == 1


@pytest.mark.parametrize("seconds", [0.0, -5.0, math.nan])
def test_a_token_without_a_time_is_used_once(seconds: float) -> None:
    tokens = Tokens()
    tokens.keep("q", "shop", "t", seconds, now=0)
    assert tokens.get("q", 0) is None


def test_a_namespace_takes_no_place_of_another_one() -> None:
    tokens = Tokens()
    tokens.keep("mine", "shop", "t", 1000, now=0)
    for number in range(10 * OF_NAMESPACE):
        tokens.keep(f"q{number}", "greedy", "t", 1000, now=0)
    assert tokens.get("mine", 1) == "t"
    assert len(tokens) == OF_NAMESPACE + 1
    for number in range(2 * IN_ALL):
        tokens.keep("q", f"n{number}", "t", 1000, now=0)
        tokens.keep(f"q{number}", f"n{number}", "t", 1000, now=0)
    assert len(tokens) <= IN_ALL
