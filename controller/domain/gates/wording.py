"""Texts with `{{ words }}`: queries, addresses and headers that name the release they are about.

Invariant: pure; a word that has no value is a problem in words, never an empty place in a query (an empty label matches
everything), and so is a value that may not stand where the text has it. Both revisions are measured with the same text:
`service` and `revision` are the side's own.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import structs

from controller.api.analysis import Header, JobQuery, Metric, PrometheusQuery, SourceQuery, WebQuery
from controller.domain.decision import Value
from controller.domain.gates.in_body import in_json, in_other_body, is_json, misplaced_secret
from controller.domain.gates.in_job import (
    anywhere_else,
    in_environment,
    is_environment,
    two_of_one_variable,
    with_arguments,
)
from controller.domain.gates.in_query import in_query
from controller.domain.gates.in_request import in_address, in_header
from controller.domain.gates.in_source import filled_source
from controller.domain.gates.in_source import texts_in as texts_of_source
from controller.domain.gates.jobs import Place, filled_job, texts_of
from controller.domain.gates.origins import Piece, Placed, Unplaced, Word
from controller.domain.gates.secret_places import secrets_of

_WORD = re.compile(r"\{\{\s*([A-Za-z][A-Za-z0-9_./-]*)\s*\}\}")
Filling = Callable[[Sequence[Piece]], str | Unplaced]


NO_VALUE = "has no value"
"""Words of a problem that an argument solves."""

WORDS_OF_A_RELEASE = frozenset(
    {
        "namespace",
        "rollout",
        "workload",
        "step",
        "weight",
        "window",
        "service",
        "revision",
        *(
            f"{side}.{what}"
            for side in ("stable", "canary")
            for what in ("service", "revision", "workload")
        ),
    }
)
"""Words that every release gives; all others are arguments."""


def words_in(metric: Metric) -> tuple[str, ...]:
    """The words that the texts of a metric name, each once."""
    return tuple(dict.fromkeys(name for text in _texts(metric) for name in _WORD.findall(text)))


class UnknownWord(Value, frozen=True):
    """A text names a word that has no value there, or one that may not stand there; `message` says which one."""

    message: str


def filled(metric: Metric, words: Mapping[str, Word]) -> Metric | UnknownWord:
    """The metric with every word of its texts replaced."""
    words = {**words, "window": Word(metric.window)}
    for text in _texts(metric):
        for name in _WORD.findall(text):
            if name not in words or not words[name].text:
                known = ", ".join(sorted(word for word in words if words[word].text))
                return UnknownWord(
                    f"metric {metric.name}: {{{{ {name} }}}} {NO_VALUE} here; known are {known}"
                )
    filling = _Filling(words)
    made = structs.replace(
        metric,
        prometheus=filling.prometheus(metric.prometheus),
        web=filling.web(metric.web),
        job=filling.job(metric.job),
        source=filling.source(metric.source),
    )
    if filling.problems:
        first = filling.problems[0]
        return UnknownWord(
            f"metric {metric.name}: the value of {{{{ {first.name} }}}} may not stand there: {first.why}"
        )
    if misplaced := _misplaced_secret(made):
        return UnknownWord(f"metric {metric.name}: {misplaced}")
    if made.job is None:
        return made
    return _with_environment(structs.replace(made, job=None), made.job, words)


def _misplaced_secret(metric: Metric) -> str:
    """Where the metric would send the value of a Secret that may not stand there; empty if it sends none."""
    if (asked := metric.prometheus) is not None and secrets_of((asked.query, asked.samples)):
        return (
            "a query gets no value of a Secret, because its result is in the status: use the argument in a header or "
            "in the address"
        )
    if (page := metric.web) is None or not is_json(page.headers):
        return ""
    why = misplaced_secret(page.body)
    return f"the value of a Secret in the body of the page's request: {why}" if why else ""


def _with_environment(
    metric: Metric, job: JobQuery, words: Mapping[str, Word]
) -> Metric | UnknownWord:
    if secrets_of(texts_of(job)):
        return UnknownWord(
            f"metric {metric.name}: a Job gets no value of a Secret by an argument: name the Secret in its env"
        )
    arguments = [name.removeprefix("args.") for name in words if name.startswith("args.")]
    if twice := two_of_one_variable(arguments):
        return UnknownWord(
            f"metric {metric.name}: the arguments {twice[0]} and {twice[1]} would be the same variable of the Job: "
            "give one of them another name"
        )
    return structs.replace(metric, job=with_arguments(job, words))


def _texts(metric: Metric) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    if (asked := metric.prometheus) is not None:
        found += (asked.query, asked.samples, asked.address, *(h.value for h in asked.headers))
    if (page := metric.web) is not None:
        found += (page.url, page.body, *(h.value for h in page.headers))
    if metric.job is not None:
        found += texts_of(metric.job)
    if metric.source is not None:
        found += texts_of_source(metric.source)
    return found


class _Filling:
    """Texts of one metric with their words; `problems` has each word that may not stand in its place."""

    def __init__(self, words: Mapping[str, Word]) -> None:
        self.problems: list[Unplaced] = []
        self._words = words

    def prometheus(self, asked: PrometheusQuery | None) -> PrometheusQuery | None:
        if asked is None:
            return None
        return structs.replace(
            asked,
            address=self._put(asked.address, in_address),
            query=self._put(asked.query, in_query),
            samples=self._put(asked.samples, in_query),
            headers=self._headers(asked.headers),
        )

    def web(self, page: WebQuery | None) -> WebQuery | None:
        if page is None:
            return None
        url, headers = self._put(page.url, in_address), self._headers(page.headers)
        body = self._put(page.body, in_json if is_json(headers) else in_other_body)
        return structs.replace(page, url=url, headers=headers, body=body)

    def job(self, query: JobQuery | None) -> JobQuery | None:
        return None if query is None else filled_job(query, self._in_job)

    def source(self, query: SourceQuery | None) -> SourceQuery | None:
        return None if query is None else filled_source(query, self._put)

    def _in_job(self, text: str, place: Place) -> str:
        return self._put(text, in_environment if is_environment(place) else anywhere_else)

    def _headers(self, headers: tuple[Header, ...]) -> tuple[Header, ...]:
        return tuple(
            structs.replace(header, value=self._put(header.value, in_header)) for header in headers
        )

    def _put(self, text: str, filling: Filling) -> str:
        made = filling(self._pieces(text))
        if isinstance(made, Unplaced):
            self.problems.append(made)
            return text
        return made

    def _pieces(self, text: str) -> tuple[Piece, ...]:
        pieces: list[Piece] = []
        end = 0
        for found in _WORD.finditer(text):
            pieces += [text[end : found.start()], Placed(found[1], self._words[found[1]])]
            end = found.end()
        return (*pieces, text[end:])
