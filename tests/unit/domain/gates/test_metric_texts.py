"""Texts that words make long are refused in words, before they are filled."""

import msgspec
import pytest

from controller.api.analysis import (
    Analysis,
    AnalysisTemplate,
    AnalysisTemplateSpec,
    Argument,
    Comparison,
    Header,
    JobQuery,
    Metric,
    PrometheusQuery,
    TemplateRef,
    WebQuery,
)
from controller.api.meta import ObjectMeta
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.gates import jobs
from controller.domain.gates.asking import asked_about, length_of_asked
from controller.domain.gates.metric_texts import LONGEST_JOB, LONGEST_TEXT
from controller.domain.gates.watching import Asked

SIDES = dict.fromkeys(
    ("canary.service", "stable.service", "canary.revision", "stable.revision"), "web"
)
WORD, LONG = "{{args.a}}", Argument("a", "x" * 1024)
MANY = WORD * 17
"""17 KiB with the long argument."""


def answer(*metrics: Metric, args: tuple[Argument, ...] = (LONG,)) -> tuple[Asked, ...] | Refusal:
    return asked_about(Analysis(args=args, metrics=metrics), {}, ObjectMeta(), SIDES, {})


def refused(*metrics: Metric, args: tuple[Argument, ...] = (LONG,)) -> str:
    found = answer(*metrics, args=args)
    assert isinstance(found, Refusal)
    assert found.reason == reasons.INVALID_ANALYSIS
    return found.message


def job(spec: object) -> Metric:
    return Metric("m", job=JobQuery(msgspec.Raw(msgspec.json.encode(spec))))


def containers(number: int, **fields: object) -> Metric:
    return job({"template": {"spec": {"containers": [fields] * number}}})


@pytest.mark.parametrize(
    ("metric", "field"),
    [
        (Metric("m", prometheus=PrometheusQuery(query=MANY)), "prometheus.query"),
        (Metric("m", prometheus=PrometheusQuery(samples=MANY)), "prometheus.samples"),
        (Metric("m", prometheus=PrometheusQuery(address=MANY)), "prometheus.address"),
        (
            Metric("m", prometheus=PrometheusQuery(headers=(Header("a"), Header("b", MANY)))),
            "prometheus.headers[1].value",
        ),
        (Metric("m", web=WebQuery(url=MANY)), "web.url"),
        (Metric("m", web=WebQuery(body=MANY)), "web.body"),
        (Metric("m", web=WebQuery(headers=(Header("a", MANY),))), "web.headers[0].value"),
        (containers(1, args=[MANY]), "job.spec"),
    ],
)
def test_a_text_that_words_make_too_long_is_named(metric: Metric, field: str) -> None:
    found = refused(metric)
    assert f"metric m: {field}: with its words it has {17 * 1024} characters" in found
    assert f"{LONGEST_TEXT} is the most" in found


def test_a_text_that_is_too_long_already_is_not_searched_for_its_words() -> None:
    metric = Metric("m", prometheus=PrometheusQuery(query=WORD + "x" * LONGEST_JOB))
    assert f"with its words it has {len(WORD) + LONGEST_JOB} characters" in refused(metric)


def test_a_text_of_the_greatest_length_is_asked() -> None:
    found = answer(Metric("m", prometheus=PrometheusQuery(query=WORD * 16)))
    assert isinstance(found, tuple)
    assert found[0].new.prometheus is not None
    assert len(found[0].new.prometheus.query) == LONGEST_TEXT


def test_a_long_text_without_words_is_its_authors() -> None:
    script = "x" * (LONGEST_TEXT + 1)
    assert isinstance(answer(containers(1, args=[script]), args=()), tuple)
    assert "job.spec" in refused(containers(1, args=[script + WORD]))


@pytest.mark.parametrize(
    "metric",
    [
        containers(10_000),
        containers(1, args=[WORD] * 200),
        containers(1, args=["x" * LONGEST_JOB]),
        job({"template": {"spec": {"initContainers": [{}] * 200}}}),
    ],
)
def test_a_job_that_its_arguments_make_too_large_is_never_made(
    metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise AssertionError("the Job was filled")

    monkeypatch.setattr("controller.domain.gates.wording.with_arguments", none)
    monkeypatch.setattr("controller.domain.gates.wording.filled_job", none)
    found = refused(metric)
    assert "metric m: job.spec: with its words, and with every argument in each container" in found


def test_a_job_is_bounded_with_the_arguments_that_it_really_gets() -> None:
    found = answer(containers(30, args=["{{rollout}}"][:0]), args=(LONG, Argument("b", "1")))
    assert isinstance(found, tuple)
    made = found[0].new.job
    assert made is not None
    spec = jobs.tree(made)
    assert len(msgspec.json.encode(spec)) <= LONGEST_JOB


def test_the_texts_of_a_gate_are_bounded_together() -> None:
    one = [
        Metric(f"m{number}", prometheus=PrometheusQuery(query=WORD * 16)) for number in range(17)
    ]
    assert isinstance(answer(*one[:16]), tuple)
    assert "with metric m16 the texts of its metrics have more than" in refused(*one)
    both = [msgspec.structs.replace(metric, compare=Comparison()) for metric in one]
    assert isinstance(answer(*both[:8]), tuple)
    assert "with metric m8 " in refused(*both[:9])


def test_the_texts_of_templates_count_too() -> None:
    metric = Metric("m", prometheus=PrometheusQuery(query=MANY))
    template = AnalysisTemplate(spec=AnalysisTemplateSpec(args=(LONG,), metrics=(metric,)))
    gate = Analysis(templates=(TemplateRef("t"),))
    found = asked_about(gate, {TemplateRef("t"): template}, ObjectMeta(), SIDES, {})
    assert isinstance(found, Refusal)
    assert "metric m: prometheus.query: " in found.message


def test_the_length_of_a_gate_is_that_of_what_is_sent() -> None:
    page = WebQuery(url="http://a/", body="{}", headers=(Header("a", "b"),))
    found = answer(
        Metric("p", prometheus=PrometheusQuery(query="up", address="http://b")),
        Metric("w", web=page, compare=Comparison()),
        msgspec.structs.replace(job({}), name="j"),
        args=(),
    )
    assert isinstance(found, tuple)
    assert list(map(length_of_asked, found)) == [2 + 8, 2 * (9 + 2 + 1), 2]


def test_a_text_of_long_words_with_short_values_counts_as_it_is_written() -> None:
    """Its words take the time, and not what they become."""
    metric = Metric("m", prometheus=PrometheusQuery(query="{{ args.long_name }}" * 10))
    found = answer(metric, args=(Argument("long_name", "1"),))
    assert isinstance(found, tuple)
    assert length_of_asked(found[0]) == 200
