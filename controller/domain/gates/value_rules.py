"""Rules of a good value: within bounds, equal to a text, or matched by an expression.

Invariant: pure. A text of a page is never repeated in words: a gate must not become a way to read pages that its author
cannot reach. Only a text that the author has written is shown. A number and a text are never taken for each other:
bounds judge numbers, expressions judge texts, and `equals` compares a number with the number that it names.
"""

from controller.api.analysis import Bounds, Metric, ValueRule
from controller.domain.gates.expression import LONGEST_TEXT, Expression, expression
from controller.domain.gates.in_source import source_problem

NEEDS_TEXT = (
    "matches reads the text of a web page or of a script: use equals, min or max for a number"
)


def shown(value: float) -> str:
    """A number as people read it: four significant digits, no exponent where that is short."""
    return f"{value:.4g}"


def rules_of(metric: Metric) -> tuple[tuple[str, ValueRule], ...]:
    """The rules of a metric, by their fields."""
    rules = (("success", metric.success), ("failure", metric.failure))
    return tuple((name, rule) for name, rule in rules if rule is not None)


def compared_number(metric: Metric) -> str:
    """The first rule of the metric that only a number can keep, in words; empty if there is none."""
    for name, rule in rules_of(metric):
        for limit, value in (("min", rule.min), ("max", rule.max)):
            if value is not None:
                return f"{name}.{limit} {shown(value)}"
    return "compare" if metric.compare is not None else ""


def why_unusable(metric: Metric) -> str:
    """Why a rule can judge no value of this metric, with its field; empty if all can."""
    for name, rule in rules_of(metric):
        if rule.matches is not None:
            if not _answers_texts(metric):
                return f"{name}.matches: {NEEDS_TEXT}"
            if isinstance(refused := expression(rule.matches), str):
                return f"{name}.matches: {rule.matches} cannot be used: {refused}"
        if (
            rule.equals is not None
            and not _answers_texts(metric)
            and number_in(rule.equals) is None
        ):
            return f"{name}.equals: {rule.equals} is no number, and only a web page or a script answers a text"
    return source_problem(metric.source) if metric.source is not None else ""


def _answers_texts(metric: Metric) -> bool:
    return metric.web is not None or metric.source is not None


def number_in(text: str) -> float | None:
    """The number that a text is; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def outside(rule: ValueRule, value: float | str) -> str:
    """How a value breaks the rule, in words; empty if it keeps it."""
    if rule.equals is not None:
        return "" if _equal(rule.equals, value) else _unequal(rule.equals, value)
    if rule.matches is not None:
        kept = isinstance(value, str) and _matched(rule.matches, value)
        return "" if kept else f"{told(value)} does not match {rule.matches}"
    if isinstance(value, str):
        return f"{told(value)} is no number"
    out = out_of_bounds(rule, value)
    return f"{shown(value)} is {out}" if out else ""


def within(rule: ValueRule, value: float | str) -> str:
    """How a value keeps the rule, in words."""
    if rule.equals is not None:
        is_text = isinstance(value, str)
        return f'the text is "{rule.equals}"' if is_text else f"the value is {rule.equals}"
    if rule.matches is not None:
        return f"{told(value)} matches {rule.matches}"
    return f"{told(value)} is within its bounds"


def _equal(wanted: str, value: float | str) -> bool:
    return value == (wanted if isinstance(value, str) else number_in(wanted))


def _unequal(wanted: str, value: float | str) -> str:
    if isinstance(value, str):
        return f'{told(value)} is not "{wanted}"'
    return f"{value:.15g} is not {wanted}"


def unreadable(metric: Metric, value: float | str) -> str:
    """Why an expression of the metric cannot judge the value; empty if each can."""
    if not any(rule.matches is not None for _, rule in rules_of(metric)):
        return ""
    if not isinstance(value, str):
        return f"the value is a number, and {NEEDS_TEXT}"
    if len(value) > LONGEST_TEXT:
        return f"the value is {told(value)}, and matches reads {LONGEST_TEXT} at most"
    return ""


def out_of_bounds(bounds: Bounds, value: float) -> str:
    """How a number lies outside of bounds; empty if it lies within."""
    if bounds.min is not None and value < bounds.min:
        return f"below {shown(bounds.min)}"
    if bounds.max is not None and value > bounds.max:
        return f"above {shown(bounds.max)}"
    return ""


def told(value: float | str) -> str:
    """A value in words: a number, or the length of a text."""
    if not isinstance(value, str):
        return shown(value)
    return f"a text of {len(value)} character{'s' if len(value) != 1 else ''}"


def known_text(metric: Metric, value: float | str | None) -> float | str | None:
    """The value as a status may show it: a text only if the gate's author has written it."""
    written = {rule.equals for _, rule in rules_of(metric)}
    return None if isinstance(value, str) and value not in written else value


def _matched(pattern: str, text: str) -> bool:
    read = expression(pattern)
    return isinstance(read, Expression) and read.found_in(text)
