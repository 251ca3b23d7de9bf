"""Every metric of a gate as it is sent: with templates, packaged queries, and words of both revisions filled in.

Invariant: pure. Either all metrics can be sent, or the first problem is returned as a message: a gate is never measured
with a part of its metrics.
"""

from collections.abc import Mapping

from controller.api.analysis import Analysis, Metric
from controller.api.meta import ObjectMeta
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.gates.golden import GoldenQueries, expanded
from controller.domain.gates.jobs import with_bounds
from controller.domain.gates.metric_texts import length_of
from controller.domain.gates.nesting import Templates
from controller.domain.gates.origins import Word, name_of_release
from controller.domain.gates.resolving import resolved
from controller.domain.gates.value_rules import why_unusable
from controller.domain.gates.watching import Asked
from controller.domain.gates.wording import UnknownWord, filled

MOST_OF_A_GATE = 256 << 10
"""Characters of all texts of a gate with their words, for both revisions: each pass of its step fills them again."""


def asked_about(
    analysis: Analysis,
    templates: Templates,
    workload: ObjectMeta,
    words: Mapping[str, str],
    golden: GoldenQueries,
) -> tuple[Asked, ...] | Refusal:
    """The metrics of a gate about the release that `words` describe, or the problem of one of them."""
    whole = resolved(analysis, templates, workload)
    if isinstance(whole, Refusal):
        return whole
    known = {name: name_of_release(text) for name, text in words.items()} | whole.args
    asked: list[Asked] = []
    length = 0
    for named in whole.metrics:
        metric = expanded(named, golden)
        if isinstance(metric, str):
            return Refusal(reasons.INVALID_ANALYSIS, metric)
        if why := why_unusable(metric):
            return Refusal(reasons.INVALID_ANALYSIS, f"metric {metric.name}: {why}")
        new = filled(metric, known | _side(words, "canary"))
        stable = filled(metric, known | _side(words, "stable")) if metric.compare else None
        for one in (new, stable):
            if isinstance(one, UnknownWord):
                return Refusal(reasons.INVALID_ANALYSIS, one.message)
        assert not isinstance(new, UnknownWord)
        assert not isinstance(stable, UnknownWord)
        told = words if metric.source is not None else {}
        asked.append(Asked(with_bounds(metric), new, stable, told))
        length += length_of_asked(asked[-1])
        if length > MOST_OF_A_GATE:
            return _too_much(metric)
    return tuple(asked)


def length_of_asked(asked: Asked) -> int:
    """The characters of a metric's texts for both revisions: with words, or as they are written if that is more."""
    sides = (side for side in (asked.new, asked.stable) if side is not None)
    written = length_of(asked.metric)
    return sum(max(written, length_of(side)) for side in sides)


def _too_much(metric: Metric) -> Refusal:
    text = (
        f"analysis: with metric {metric.name} the texts of its metrics have more than {MOST_OF_A_GATE} characters "
        "together, each with its words and once more for the stable revision: use fewer metrics, or shorter arguments"
    )
    return Refusal(reasons.INVALID_ANALYSIS, text)


def _side(words: Mapping[str, str], side: str) -> dict[str, Word]:
    return {what: name_of_release(words[f"{side}.{what}"]) for what in ("service", "revision")}
