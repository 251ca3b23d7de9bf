"""The dialect of regular expressions that a gateway compiles (`--@regex`), and what an expression has that it lacks.

Why: a gateway that cannot compile one expression may refuse everything that it is sent from then on: Envoy keeps the
routes that it had, of all applications. Invariant: an expression is refused only for a gateway whose script names a
dialect, in a match that this gateway is sent.
"""

from collections.abc import Iterator, Sequence

from controller.api.re2 import why_not_re2
from controller.api.regex import only_pcre
from controller.api.rollout import HttpRouteMatch, Step
from controller.domain.decision import Reference
from controller.domain.traffic.plan.abilities import (
    REGEX,
    Headers,
    granted,
    left_out,
    name_of_script,
    partial_matches,
)

RE2, RUST, PCRE = "re2", "rust", "pcre"
DIALECTS = frozenset({RE2, RUST, PCRE})
_SPOKEN = {RE2: "RE2", RUST: "Rust's regex"}


def unreadable_expressions(
    step: Step, references: tuple[Reference, ...], headers: Headers
) -> Iterator[tuple[str, str]]:
    """Fields of the step's matches (`matches[0].path.value`), each with the reason why a gateway cannot read it; one
    reason for each.
    """
    told: set[str] = set()
    for reference, matches in _sent(step, references, headers):
        for place, expression in _expressions(step, matches):
            problem = _problem(expression, reference, headers)
            if problem and place not in told:
                told.add(place)
                yield place, problem


def _sent(
    step: Step, references: tuple[Reference, ...], headers: Headers
) -> Iterator[tuple[Reference, Sequence[HttpRouteMatch]]]:
    """Each reference with the matches that it is sent."""
    abilities = [(item, granted(item, references, headers)) for item in references]
    nothing = left_out(step, abilities)
    parts = partial_matches(step, abilities)
    for reference in references:
        if reference not in nothing:
            some = (part.matches for part in parts if part.reference == reference)
            yield reference, next(some, step.matches)


def _expressions(step: Step, sent: Sequence[HttpRouteMatch]) -> Iterator[tuple[str, str]]:
    for index, match in enumerate(step.matches):
        if match not in sent:
            continue
        place = f"matches[{index}]"
        for field, conditions in (("headers", match.headers), ("queryParams", match.query_params)):
            for which, condition in enumerate(conditions):
                if condition.type == REGEX:
                    yield f"{place}.{field}[{which}].value", condition.value
        if match.path is not None and match.path.type == REGEX:
            yield f"{place}.path.value", match.path.value


def _problem(expression: str, reference: Reference, headers: Headers) -> str:
    """Why the gateway cannot read the expression; empty if it can, or if that is not known."""
    header = headers(reference)
    if header is None:
        return ""
    named = name_of_script(reference)
    if header.longest_regex and len(expression) > header.longest_regex:
        return (
            f"{len(expression)} characters; {named} takes expressions of at most "
            f"{header.longest_regex}: divide it into several matches"
        )
    why: str | None = None
    if header.regex == RE2:
        why = why_not_re2(expression)
    elif header.regex == RUST and only_pcre(expression):
        why = "look-around, a back reference or a possessive quantifier"
    if why is None:
        return ""
    return f"{expression!r} is no expression for {named}, which reads {_SPOKEN[header.regex]}: {why}; write it without"
