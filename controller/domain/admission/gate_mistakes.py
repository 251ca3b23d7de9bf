"""Warnings about metrics of a gate that cannot be measured as they are written.

Why: the release would be stalled by them, before its first pod or in the step that the gate ends. Invariant: pure and
total, for any JSON. Refuses nothing, because templates are written without a review. Must not ask for anything that is
not in the Rollout: an argument that a template may have a default for is not judged.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import islice
from typing import NamedTuple

import msgspec

from controller.api.analysis import Metric
from controller.api.conversion import Unconvertible, converted
from controller.api.decoding import decoded
from controller.api.duration import parse_duration
from controller.api.jsontree import JsonObject, child, items, text
from controller.api.names import V1BETA1
from controller.domain.admission.gate_arguments import gates_in
from controller.domain.gates.judging import SHORTEST_INTERVAL
from controller.domain.gates.metric_texts import why_too_long, words_in
from controller.domain.gates.origins import Word
from controller.domain.gates.value_rules import why_unusable
from controller.domain.gates.wording import NO_VALUE, WORDS_OF_A_RELEASE

_KNOWN = ", ".join(sorted(WORDS_OF_A_RELEASE))
_MOST_WORDS = 8
"""Words of one metric that get a warning of their own: a text of 200 KB may have 25 000."""
_ARGS = 32
"""Arguments of a gate that the schema lets pass; a forged review may have more."""
_SCHEME = re.compile(r"(https?://|\{\{)", re.IGNORECASE)


def gate_mistakes(obj: JsonObject) -> tuple[str, ...]:
    """A text for each mistake, with its field."""
    beta = converted(obj, V1BETA1)
    if isinstance(beta, Unconvertible):
        return ()
    return tuple(
        f"{path}.metrics[{index}].{mistake}"
        for path, analysis in gates_in(beta)
        for given in (_given(analysis),)
        for index, metric in enumerate(map(child, items(analysis, "metrics")))
        for mistake in _of_metric(metric, given)
    )


class _Given(NamedTuple):
    """The words and arguments that a gate gives to all of its metrics."""

    words: frozenset[str]
    """The words that have a value, from the release or from an argument."""
    arguments: Mapping[str, Word]
    """The arguments whose values are in the Rollout."""
    has_templates: bool


def _given(analysis: JsonObject) -> _Given:
    args = {
        f"args.{text(each, 'name')}": Word(text(each, "value"))
        for each in map(child, items(analysis, "args"))
    }
    words = WORDS_OF_A_RELEASE | args.keys()
    return _Given(words, dict(islice(args.items(), _ARGS)), bool(items(analysis, "templates")))


def _of_metric(raw: JsonObject, given: _Given) -> Iterator[str]:
    try:
        metric = decoded(msgspec.json.encode(raw), Metric)
    except msgspec.DecodeError:
        return
    yield from _lengths(metric)
    yield from _addresses(metric)
    yield from _unknown_words(metric, given)
    if long := why_too_long(metric, given.arguments):
        yield long
    if why := why_unusable(metric):
        yield why


def _lengths(metric: Metric) -> Iterator[str]:
    interval, window = parse_duration(metric.interval), parse_duration(metric.window)
    if interval is not None and interval < SHORTEST_INTERVAL:
        yield (
            f"interval: {metric.interval} is less than a second: the metric is measured once a second; write the "
            "time that you want between two measurements"
        )
    if window == timedelta():
        yield f"window: {metric.window} is no length of time: write the time that the query looks back, such as 5m"


def _addresses(metric: Metric) -> Iterator[str]:
    given = (
        ("prometheus.address", metric.prometheus.address if metric.prometheus else ""),
        ("web.url", metric.web.url if metric.web else ""),
        ("golden.address", metric.golden.address if metric.golden else ""),
    )
    for field, address in given:
        if address and _SCHEME.match(address) is None:
            yield f"{field}: {address} cannot be asked: an address begins with http:// or https://"


def _unknown_words(metric: Metric, given: _Given) -> Iterator[str]:
    """Words that neither the release nor an argument gives; a template may give any argument a default."""
    source = next(
        (each for each in ("prometheus", "web", "job", "source") if getattr(metric, each)), ""
    )
    unknown = [
        word
        for word in words_in(metric)
        if word not in given.words and not (given.has_templates and word.startswith("args."))
    ]
    named = unknown[:_MOST_WORDS]
    for word in named:
        yield (
            f"{source}: {{{{ {word} }}}} {NO_VALUE}: no release begins with it; give it as an argument "
            f"(args), or use one of {_KNOWN}"
        )
    if len(unknown) > len(named):
        yield f"{source}: and {len(unknown) - len(named)} more words that have no value"
