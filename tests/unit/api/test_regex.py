"""Expressions are judged in the words of the gateways, not in Python's."""

import pytest

from controller.api.regex import only_pcre, uncompilable


@pytest.mark.parametrize(
    "pattern",
    [
        "^/api/v[12]/.*$",
        r"\pL+\p{Greek}\P{N}",
        r"(?i)abc(?s:.)(?U)",
        r"(?<name>x)(?P<other>y)",
        r"\Qa.b(\E\z",
        "[[:alpha:]_]+",
        r"\x{10FFFF}",
        r"(?<=a)b(?!c)(a)\1",
        r"(?>a)b++",
        r"(a)\g{1}\k<n>\K",
        "",
    ],
)
def test_an_expression_that_some_gateway_compiles_is_no_error(pattern: str) -> None:
    assert uncompilable(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(a", "unterminated subpattern"),
        ("a)", "unbalanced parenthesis"),
        ("[a", "unterminated character set"),
        ("*a", "nothing to repeat"),
        ("a{3,1}", "min repeat greater than max repeat"),
        ("[z-a]", "bad character range"),
        ("a\\", "bad escape (end of pattern)"),
    ],
)
def test_an_expression_that_no_gateway_compiles_is_an_error(pattern: str, expected: str) -> None:
    assert expected in (uncompilable(pattern) or "")


def test_nesting_without_end_is_an_error() -> None:
    assert uncompilable("(" * 5000 + ")" * 5000) is not None


@pytest.mark.parametrize("pattern", ["a(?=b)", "(?<!a)b", r"(a)\1", "a++", "(?>a)", r"\Kx"])
def test_syntax_that_only_pcre_has_is_recognised(pattern: str) -> None:
    assert only_pcre(pattern)


@pytest.mark.parametrize("pattern", [r"a\+\+", "[+*]+", r"\(\?=x", "[(?=]", "a+?", "(?i)a(?:b)"])
def test_syntax_that_re2_has_is_not_reported(pattern: str) -> None:
    assert not only_pcre(pattern)
