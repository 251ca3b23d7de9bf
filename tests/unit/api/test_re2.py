"""Expressions are read as RE2 reads them: the table was compared with Go's regexp."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.re2 import why_not_re2


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "^/api/v[12]/.*$",
        r"\pL+\p{Greek}\P{^N}",
        r"(?i)abc(?s:.)(?U)(?-s)",
        r"(?<name>x)(?P<other>y)",
        r"\Qa.b(\E+\z",
        r"\Q\E",
        r"\Qnever closed(",
        "[[:alpha:]_]+[[:^digit:]]",
        r"\x{10FFFF}[\x41-\x5A][\0-\12][\a-\n]",
        "[]a][^]a][a-][-a]",
        r"[\d-z][\pL\S]",
        "a{,5}b{02}c{d",
        "(a{10}){100}",
        "a{0}b{2,}",
        "()*(|a)+?",
        r"\b^\A\B$\_\ \/",
        "a*(?i)",
    ],
)
def test_an_expression_that_re2_knows_has_no_problem(pattern: str) -> None:
    assert why_not_re2(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(?!x).*", "look-around"),
        ("(?=x)", "look-around"),
        ("(?<=x)y", "look-around"),
        ("(?<!x)y", "look-around"),
        ("(?>a)", "look-around"),
        ("(?x)a", "begins no group"),
        ("(?-)", "begins no group"),
        ("(?#note)", "begins no group"),
        (r"(a)\1", "back reference"),
        (r"\8", "back reference"),
        (r"(a)\k<n>", "back reference"),
        (r"\C", "no escape"),
        (r"\K", "no escape"),
        (r"\é", "no escape"),
        ("\\", "no escape"),
        (r"\pX", "no escape"),
        (r"\x4", "no escape"),
        (r"\x{110000}", "no character"),
        (r"[\b]", "no escape"),
        (r"[\Qa\E]", "no escape"),
        ("[z-a]", "ends before it begins"),
        (r"[a-\d]", "ends with a class"),
        ("[[:foo:]]", "no class"),
        ("[a", "no closing bracket"),
        ("[a-", "no closing bracket"),
        ("[", "no closing bracket"),
        ("a++", "repeats a repetition"),
        ("a**", "repeats a repetition"),
        ("a{2}{3}", "repeats a repetition"),
        ("*a", "nothing to repeat"),
        ("(*a)", "nothing to repeat"),
        ("a|*", "nothing to repeat"),
        (r"\Q\E*", "nothing to repeat"),
        ("a{1001}", "more than 1000 times"),
        ("(a{500}b){3}", "more than 1000 times"),
        ("((a{20}){20}){20}", "more than 1000 times"),
        ("a{3,2}", "no repetition"),
        ("(a", "not closed"),
        ("a)", "not opened"),
        ("(?P<n>a)(?<n>b)", "two groups are named n"),
        ("(" * 1001 + ")" * 1001, "nested more than 1000 deep"),
    ],
)
def test_what_re2_does_not_know_is_named(pattern: str, expected: str) -> None:
    assert expected in (why_not_re2(pattern) or "")


@given(st.text(alphabet="ab1-[](){}|*+?,.^$\\dpLQE:=<>P!imx0{2}", max_size=12))
def test_any_text_gets_an_answer(pattern: str) -> None:
    why_not_re2(pattern)
    assert (
        why_not_re2(f"{pattern}(?=x)") is not None
        or "\\Q" in pattern
        or "[" in pattern
        or "\\" in pattern
    )
