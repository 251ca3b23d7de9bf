"""Expressions about texts: RE2's meaning, and a time that nobody can stretch."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.gates.expression import (
    LONGEST_PATTERN,
    LONGEST_TEXT,
    Expression,
    expression,
)


def found(pattern: str, text: str) -> bool:
    made = expression(pattern)
    assert isinstance(made, Expression), made
    return made.found_in(text)


SIMPLE = st.sampled_from(
    [
        "a",
        "b",
        "-",
        ".",
        "^",
        "$",
        "[ab]",
        "[^a]",
        "[a-c-]",
        "[]a]",
        "\\d",
        "\\W",
        "[\\s\\d]",
        "\\.",
        "é",
    ]
)
PATTERNS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda some: f"(?:{'|'.join(some)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"])).map(
            lambda both: f"({both[0]}){both[1]}"
        ),
    ),
    max_leaves=6,
)


@given(PATTERNS, st.text("abc-. 1é\n", max_size=6))
def test_an_expression_finds_what_the_same_one_of_python_finds(pattern: str, text: str) -> None:
    theirs = re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern), re.ASCII)
    assert found(pattern, text) == (theirs.search(text) is not None)


@pytest.mark.parametrize(
    ("pattern", "text", "finds"),
    [
        ("^(ok|degraded)$", "ok", True),
        ("^(ok|degraded)$", "ok\n", False),
        ("ok", "not ok", True),
        ("", "", True),
        ("^$", "", True),
        ("a{", "a{", True),
        ("x{,2}", "x{,2}", True),
        ("\\x41\\x{e9}\\t", "Aé\t", True),
        ("[\\x41-\\x43]", "B", True),
        ("\\Aa\\z", "a", True),
        ("\\Aa\\z", "ba", False),
        ("(?P<one>a)(?<two>b)", "ab", True),
        ("[a-cb-f]", "e", True),
        ("[^\\n]", "\n", False),
        (".", "\n", False),
        ("[.]", "x", False),
        ("\\D", "1", False),
        ("(a*)*b", "aab", True),
        ("(?i)ok", "OK", True),
        ("\\bok\\b", "not ok.", True),
        ("^\\pL+$", "é", True),
        ("^[[:alpha:]]+$", "a1", False),
    ],
)
def test_an_expression_means_what_it_means_in_re2(pattern: str, text: str, finds: bool) -> None:
    assert found(pattern, text) is finds


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "a group is not closed"),
        ("a**", "repeats a repetition"),
        ("(?=a)", "look-around"),
        ("(a)\\1", "back reference"),
        (r"(\pL{30}){30}", "RE2 refuses it: pattern too large"),
        ("a" * (LONGEST_PATTERN + 1), f"{LONGEST_PATTERN} characters at most"),
    ],
)
def test_an_expression_that_is_not_known_is_refused_in_words(pattern: str, why: str) -> None:
    refused = expression(pattern)
    assert isinstance(refused, str)
    assert why in refused


@pytest.mark.parametrize(
    "pattern",
    [
        "(a|a)*b",
        "(a*)*b",
        "(a?){60}a{60}b",
        "a*a*a*a*a*a*b",
        "(a|b)*a(a|b){30}c",
        "([ab]|a)*(a|aa)*c",
    ],
)
def test_no_expression_takes_long(pattern: str) -> None:
    """Each of these takes `re` longer than a day: with `re`, this test would not end."""
    assert not found(pattern, "a" * LONGEST_TEXT)
