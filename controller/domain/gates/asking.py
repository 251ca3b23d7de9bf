"""Every metric of a gate as it is sent: with templates, packaged queries, and words of both revisions filled in.

Invariant: pure. Either all metrics can be sent, or the first problem is returned as a message: a gate is never measured
with a part of its metrics.
"""

from collections.abc import Mapping

from controller.api.analysis import Analysis
from controller.api.meta import ObjectMeta
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.gates.golden import GoldenQueries, expanded
from controller.domain.gates.jobs import with_bounds
from controller.domain.gates.nesting import Templates
from controller.domain.gates.origins import Word, name_of_release
from controller.domain.gates.resolving import resolved
from controller.domain.gates.value_rules import why_unusable
from controller.domain.gates.watching import Asked
from controller.domain.gates.wording import UnknownWord, filled


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
    return tuple(asked)


def _side(words: Mapping[str, str], side: str) -> dict[str, Word]:
    return {what: name_of_release(words[f"{side}.{what}"]) for what in ("service", "revision")}
