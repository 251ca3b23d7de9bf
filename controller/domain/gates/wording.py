"""Texts with `{{ words }}`: queries, addresses and headers that name the release they are about.

Invariant: pure; a word that has no value is a problem in words, never an empty place in a query (an empty label matches
everything). Both revisions are measured with the same text: `service` and `revision` are the side's own.
"""

import re
from collections.abc import Callable, Mapping

from msgspec import structs

from controller.api.analysis import Header, Metric, PrometheusQuery, WebQuery
from controller.domain.decision import Value
from controller.domain.gates.jobs import filled_job, texts_of
from controller.domain.gates.secret_places import secrets_of

_WORD = re.compile(r"\{\{\s*([A-Za-z][A-Za-z0-9_./-]*)\s*\}\}")


NO_VALUE = "has no value"
"""Words of a problem that an argument solves."""


class UnknownWord(Value, frozen=True):
    """A text names a word that has no value there; `message` says which one, and which have."""

    message: str


def filled(metric: Metric, words: Mapping[str, str]) -> Metric | UnknownWord:
    """The metric with every word of its texts replaced."""
    words = {**words, "window": metric.window}
    for text in _texts(metric):
        for name in _WORD.findall(text):
            if not words.get(name):
                known = ", ".join(sorted(word for word in words if words[word]))
                return UnknownWord(
                    f"metric {metric.name}: {{{{ {name} }}}} {NO_VALUE} here; known are {known}"
                )

    def fill(text: str) -> str:
        return _WORD.sub(lambda found: words[found.group(1)], text)

    made = structs.replace(
        metric,
        prometheus=_filled_prometheus(metric.prometheus, fill),
        web=_filled_web(metric.web, fill),
        job=filled_job(metric.job, fill) if metric.job is not None else None,
    )
    if made.job is not None and secrets_of(texts_of(made.job)):
        return UnknownWord(
            f"metric {metric.name}: a Job gets no value of a Secret by an argument: name the Secret in its env"
        )
    return made


def _texts(metric: Metric) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    if (asked := metric.prometheus) is not None:
        found += (asked.query, asked.samples, asked.address, *(h.value for h in asked.headers))
    if (page := metric.web) is not None:
        found += (page.url, *(h.value for h in page.headers))
    if metric.job is not None:
        found += texts_of(metric.job)
    return found


Fill = Callable[[str], str]


def _filled_prometheus(asked: PrometheusQuery | None, fill: Fill) -> PrometheusQuery | None:
    if asked is None:
        return None
    return structs.replace(
        asked,
        address=fill(asked.address),
        query=fill(asked.query),
        samples=fill(asked.samples),
        headers=_filled_headers(asked.headers, fill),
    )


def _filled_web(page: WebQuery | None, fill: Fill) -> WebQuery | None:
    if page is None:
        return None
    return structs.replace(page, url=fill(page.url), headers=_filled_headers(page.headers, fill))


def _filled_headers(headers: tuple[Header, ...], fill: Fill) -> tuple[Header, ...]:
    return tuple(structs.replace(header, value=fill(header.value)) for header in headers)
