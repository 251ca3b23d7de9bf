"""An expression is refused for a gateway whose dialect is certain, in the matches that it is sent."""

import pytest

from controller.api.rollout import HttpRouteMatch, PathMatch, Step, ValueMatch
from controller.domain.decision import Reference
from controller.domain.traffic.plan.dialects import unreadable_expressions
from controller.domain.traffic.plan.header import ScriptHeader, parse_header

VS = Reference("networking.istio.io/v1", "VirtualService", "web", "web", "web-canary")
NGINX = Reference("networking.k8s.io/v1", "Ingress", "web", "web", "web-canary", class_type="nginx")
LOOK = "(?!bot).*"
RE2 = parse_header("--@regex re2")


def header(lines: str) -> ScriptHeader:
    return parse_header(lines)


def by_header(value: str, kind: str = "RegularExpression", name: str = "agent") -> HttpRouteMatch:
    return HttpRouteMatch(headers=(ValueMatch(kind, name, value),))


def problems(step: Step, *of: tuple[Reference, ScriptHeader | None]) -> dict[str, str]:
    references = tuple(reference for reference, _ in of)
    return dict(
        unreadable_expressions(step, references, lambda asked: of[references.index(asked)][1])
    )


@pytest.mark.parametrize(
    ("match", "place"),
    [
        (by_header(LOOK), "matches[0].headers[0].value"),
        (
            HttpRouteMatch(query_params=(ValueMatch("RegularExpression", "q", LOOK),)),
            "matches[0].queryParams[0].value",
        ),
        (HttpRouteMatch(path=PathMatch("RegularExpression", LOOK)), "matches[0].path.value"),
    ],
)
def test_the_field_and_the_syntax_are_named(match: HttpRouteMatch, place: str) -> None:
    found = problems(Step(matches=(match,)), (VS, RE2))
    assert list(found) == [place]
    assert "VirtualService/web, which reads RE2: (?!" in found[place]


def test_values_that_are_no_expressions_are_not_read() -> None:
    step = Step(matches=(by_header(LOOK, "Exact"), HttpRouteMatch(path=PathMatch("Exact", "("))))
    assert problems(step, (VS, RE2)) == {}


@pytest.mark.parametrize(
    ("word", "value", "known"),
    [
        ("re2", LOOK, False),
        ("re2", r"\C", False),
        ("rust", LOOK, False),
        ("rust", r"\pL+", True),
        ("pcre", LOOK, True),
        ("", LOOK, True),
        ("something-new", LOOK, True),
    ],
)
def test_each_dialect_refuses_what_it_does_not_know(word: str, value: str, known: bool) -> None:
    found = problems(Step(matches=(by_header(value),)), (VS, header(f"--@regex {word}")))
    assert (found == {}) == known


def test_an_expression_that_is_too_long_is_refused_with_the_limit() -> None:
    of = VS, header("--@regex re2 1024")
    assert problems(Step(matches=(by_header("a" * 1024),)), of) == {}
    (problem,) = problems(Step(matches=(by_header("a" * 1025),)), of).values()
    assert "1025 characters" in problem
    assert "at most 1024" in problem


def test_a_gateway_without_a_script_refuses_nothing() -> None:
    assert problems(Step(matches=(by_header(LOOK),)), (VS, None)) == {}


def test_an_expression_is_refused_once_for_several_gateways() -> None:
    other = Reference("networking.istio.io/v1", "VirtualService", "two", "web", "web-canary")
    found = problems(Step(matches=(by_header(LOOK),)), (VS, RE2), (other, RE2))
    assert len(found) == 1


def test_a_gateway_that_is_sent_no_such_match_refuses_nothing() -> None:
    exact, everything = header("--@can header,weight\n--@regex re2"), header("--@regex pcre")
    step = Step(matches=(by_header(LOOK),))
    assert problems(step, (VS, exact), (NGINX, everything)) == {}
    both = Step(matches=(by_header(LOOK), by_header("x", "Exact")))
    assert problems(both, (VS, exact), (NGINX, everything)) == {}
