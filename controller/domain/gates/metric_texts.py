"""The texts of a metric, each with its field, and how long they may become.

Why bounds: a text of four thousand characters can name an argument four hundred times, and a Job has every argument in
each container, so that a small object would take all time and memory of the controller. Invariant: pure; lengths are
found before a text is filled, in time that grows with the metric as it is written.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from controller.api.analysis import Metric
from controller.domain.gates.in_job import added_by_arguments
from controller.domain.gates.in_source import texts_in as texts_of_source
from controller.domain.gates.jobs import texts_of
from controller.domain.gates.origins import Word

LONGEST_TEXT = 16 << 10
"""Characters of one text with its words."""
LONGEST_JOB = 128 << 10
"""Characters of a Job's spec with its words, and with every argument in each container."""
WORD = re.compile(r"\{\{\s*([A-Za-z][A-Za-z0-9_./-]*)\s*\}\}")


class Text(NamedTuple):
    """A text and its field in the metric."""

    field: str
    text: str


def texts_in(metric: Metric) -> Iterator[Text]:
    """Every text that may have words."""
    if (asked := metric.prometheus) is not None:
        yield Text("prometheus.query", asked.query)
        yield Text("prometheus.samples", asked.samples)
        yield Text("prometheus.address", asked.address)
        for index, header in enumerate(asked.headers):
            yield Text(f"prometheus.headers[{index}].value", header.value)
    if (page := metric.web) is not None:
        yield Text("web.url", page.url)
        yield Text("web.body", page.body)
        for index, header in enumerate(page.headers):
            yield Text(f"web.headers[{index}].value", header.value)
    if metric.job is not None:
        yield from (Text("job.spec", text) for text in texts_of(metric.job))
    if metric.source is not None:
        yield from (Text("source.params", text) for text in texts_of_source(metric.source))


def words_in(metric: Metric) -> tuple[str, ...]:
    """The words that the texts of a metric name, each once."""
    return tuple(dict.fromkeys(name for text in texts_in(metric) for name in WORD.findall(text[1])))


def length_of(metric: Metric) -> int:
    """The characters of a metric's texts, and of its Job's spec."""
    job = metric.job
    asked = sum(len(one.text) for one in texts_in(metric) if one.field != "job.spec")
    return asked + (len(bytes(job.spec)) if job is not None else 0)


def why_too_long(metric: Metric, words: Mapping[str, Word]) -> str:
    """Which text would be too long with its words, and what to do; empty if none would."""
    if why := _why_job_is_too_long(metric, words):
        return why
    for field, text in texts_in(metric):
        if WORD.search(text) and (length := _length_with_words(text, words)) > LONGEST_TEXT:
            return (
                f"{field}: with its words it has {length} characters, and {LONGEST_TEXT} is the most: name fewer "
                "words in it, or make the arguments shorter"
            )
    return ""


def _why_job_is_too_long(metric: Metric, words: Mapping[str, Word]) -> str:
    if (job := metric.job) is None:
        return ""
    length = len(bytes(job.spec))
    if length <= LONGEST_JOB:
        length += added_by_arguments(job, words)
    if length <= LONGEST_JOB:
        length += sum(_length_with_words(text, words) - len(text) for text in texts_of(job))
    if length <= LONGEST_JOB:
        return ""
    return (
        f"job.spec: with its words, and with every argument in each container, it has {length} characters or more, "
        f"and {LONGEST_JOB} is the most: use fewer containers, or fewer or shorter arguments"
    )


def _length_with_words(text: str, words: Mapping[str, Word]) -> int:
    """The length of a text with its words as they are; of a text that is too long without them, its own."""
    if len(text) > LONGEST_JOB:
        return len(text)
    added = (
        len(words[found[1]].text) - len(found[0])
        for found in WORD.finditer(text)
        if found[1] in words
    )
    return len(text) + sum(added)
