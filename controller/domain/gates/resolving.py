"""All metrics of a gate: its own and its templates', and the values of their arguments.

Invariant: pure. A template that does not exist, cannot be read, or needs an argument without a value is returned as a
problem; a gate is never measured with a part of its metrics. An argument of the gate outranks a template's default.
Each value keeps the origin of its text: an annotation is no part of a query.
"""

from controller.api.analysis import Analysis, AnalysisTemplate, Argument, Metric
from controller.api.meta import ObjectMeta
from controller.domain import reasons
from controller.domain.decision import Refusal, Value
from controller.domain.gates.nesting import Templates, in_a_row
from controller.domain.gates.origins import LONGEST, Origin, Word, unfit
from controller.domain.gates.secret_places import place_of
from controller.domain.gates.wording import NO_VALUE


class Resolved(Value, frozen=True):
    """The metrics to measure; `args` has the value of each `args.NAME`."""

    metrics: tuple[Metric, ...]
    args: dict[str, Word]


def resolved(analysis: Analysis, templates: Templates, workload: ObjectMeta) -> Resolved | Refusal:
    """The gate's metrics and arguments, or a missing one."""
    metrics, defaults = analysis.metrics, dict[str, Argument]()
    row = in_a_row(analysis.templates, templates)
    if isinstance(row, Refusal):
        return row
    for found in row:
        if why := _own_script(found):
            return Refusal(reasons.INVALID_ANALYSIS, why)
        metrics += found.spec.metrics
        defaults |= {
            argument.name: argument
            for argument in found.spec.args
            if _has_value(argument) or argument.name not in defaults
        }
    twice = _named_twice(metrics)
    if twice:
        text = f"analysis: two metrics are named {twice}; give one of them another name"
        return Refusal(reasons.INVALID_ANALYSIS, text)
    given = {argument.name: argument for argument in analysis.args}
    args: dict[str, Word] = {}
    for name, argument in (defaults | given).items():
        value = _value(argument, workload)
        if not value.text and name in defaults and name in given:
            value = _value(defaults[name], workload)
        if why := _unfit(value):
            text = f"analysis: the argument {name}: a value that is read from the workload {why}"
            return Refusal(reasons.INVALID_ANALYSIS, text)
        if not value.text:
            text = f"analysis: the argument {name} {NO_VALUE}: give it under args, or {_asked(argument)}"
            return Refusal(reasons.INVALID_ANALYSIS, text)
        args[f"args.{name}"] = value
    return Resolved(metrics, args)


def lacks_a_value(problem: Refusal) -> bool:
    """Whether an argument or a word of the release would solve the problem."""
    return problem.reason == reasons.INVALID_ANALYSIS and NO_VALUE in problem.message


def _has_value(argument: Argument) -> bool:
    """An argument without one leaves the default of a template that its template names."""
    return bool(argument.value) or argument.value_from is not None


def _own_script(template: AnalysisTemplate) -> str:
    """Why a template may not be used: it names a ServiceAccount, and who wrote it was not asked for a right to it."""
    for metric in template.spec.metrics:
        if metric.source is not None and metric.source.script_ref is not None:
            return (
                f"metric {metric.name} of template {template.metadata.name}: scriptRef may stand only in a Rollout, "
                "where its author's right to the ServiceAccount is checked: write the metric into the Rollout"
            )
    return ""


def _named_twice(metrics: tuple[Metric, ...]) -> str:
    seen: set[str] = set()
    for metric in metrics:
        if metric.name in seen:
            return metric.name
        seen.add(metric.name)
    return ""


def _value(argument: Argument, workload: ObjectMeta) -> Word:
    source, own = argument.value_from, Word(argument.value or "")
    if source is None:
        return own
    if source.secret is not None:
        return Word(place_of(source.secret), Origin.SECRET)
    texts, name = (
        (workload.labels, source.label)
        if source.label
        else (workload.annotations, source.annotation)
    )
    found = texts.get(name)
    return own if found is None else Word(found.strip(), Origin.OTHERS)


def _unfit(value: Word) -> str:
    """Why a value of the workload may stand in no metric; its author need not be allowed to write the gate."""
    if value.origin is not Origin.OTHERS:
        return ""
    if len(value.text) > LONGEST:
        return f"may have {LONGEST} characters at most"
    return unfit(value.text)


def _asked(argument: Argument) -> str:
    source = argument.value_from
    if source is None:
        return "give the template a default"
    what = f"label {source.label}" if source.label else f"annotation {source.annotation}"
    return f"set the {what} on the workload"
