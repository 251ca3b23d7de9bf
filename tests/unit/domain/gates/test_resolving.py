"""A gate is measured whole or not at all: templates, arguments, words."""

import msgspec
import pytest

from controller.api.analysis import (
    Analysis,
    AnalysisTemplate,
    AnalysisTemplateSpec,
    Argument,
    ArgumentSource,
    Golden,
    Header,
    JobQuery,
    Metric,
    PrometheusQuery,
    SecretKey,
    SecretRef,
    TemplateRef,
    ValueRule,
    WebQuery,
)
from controller.api.meta import ObjectMeta
from controller.domain import reasons
from controller.domain.availability import Forbidden
from controller.domain.decision import Refusal
from controller.domain.gates.golden import GoldenQuery, expanded
from controller.domain.gates.origins import Word, name_of_release
from controller.domain.gates.resolving import lacks_a_value, resolved
from controller.domain.gates.wording import UnknownWord, filled

WORKLOAD = ObjectMeta(labels={"team": "shop"}, annotations={"slo": "0.99"})
ERRORS = Metric(name="errors", success=ValueRule(max=1))
REF = TemplateRef("shared")


def template(*args: Argument) -> AnalysisTemplate:
    return AnalysisTemplate(spec=AnalysisTemplateSpec(args=args, metrics=(ERRORS,)))


def args_of(analysis: Analysis, *defaults: Argument) -> dict[str, str] | str:
    found = resolved(analysis, {REF: template(*defaults)}, WORKLOAD)
    if isinstance(found, Refusal):
        return found.message
    return {name: word.text for name, word in found.args.items()}


def of_template(*args: Argument) -> Analysis:
    return Analysis(templates=(REF,), args=args)


@pytest.mark.parametrize(
    ("given", "default", "value"),
    [
        (Argument("x", "1"), Argument("x", "2"), "1"),
        (None, Argument("x", "2"), "2"),
        (Argument("x"), Argument("x", "2"), "2"),
        (Argument("x", value_from=ArgumentSource(label="team")), Argument("x"), "shop"),
        (Argument("x", value_from=ArgumentSource(annotation="slo")), Argument("x"), "0.99"),
        (Argument("x", "0", ArgumentSource(label="none")), Argument("x"), "0"),
    ],
)
def test_an_argument_of_the_gate_outranks_the_templates_default(
    given: Argument | None, default: Argument, value: str
) -> None:
    analysis = of_template(*(given,) if given is not None else ())
    assert args_of(analysis, default) == {"args.x": value}


FROM_SECRET = ArgumentSource(secret=SecretKey("metrics", "tenant"))


def test_a_value_of_a_secret_is_a_place_and_not_the_value() -> None:
    assert args_of(of_template(), Argument("x", value_from=FROM_SECRET)) == {
        "args.x": "{{ secret metrics/tenant }}"
    }


def test_an_annotation_of_the_workload_cannot_name_a_secret() -> None:
    workload = ObjectMeta(annotations={"slo": "{{ secret metrics/tenant }}"})
    argument = Argument("x", value_from=ArgumentSource(annotation="slo"))
    found = resolved(of_template(), {REF: template(argument)}, workload)
    assert isinstance(found, Refusal)
    assert "may not hold {{" in found.message


@pytest.mark.parametrize("place", ["query", "samples"])
def test_a_query_gets_no_value_of_a_secret(place: str) -> None:
    """Its result is in the status, and a query can answer one letter after the other."""
    asked = msgspec.structs.replace(PrometheusQuery(query="up"), **{place: "vector({{ args.x }})"})
    words = {"args.x": Word("{{ secret metrics/tenant }}")}
    problem = filled(Metric("errors", prometheus=asked), words)
    assert isinstance(problem, UnknownWord)
    assert "a query gets no value of a Secret" in problem.message


def test_a_job_gets_no_value_of_a_secret() -> None:
    spec = msgspec.Raw(b'{"template":{"args":["{{ args.x }}"]}}')
    words = {"args.x": Word("{{ secret metrics/tenant }}")}
    found = filled(Metric(name="smoke", job=JobQuery(spec=spec)), words)
    assert isinstance(found, UnknownWord)
    assert "name the Secret in its env" in found.message


@pytest.mark.parametrize(
    ("argument", "asks"),
    [
        (Argument("x"), "give the template a default"),
        (
            Argument("x", value_from=ArgumentSource(label="zone")),
            "set the label zone on the workload",
        ),
        (
            Argument("x", value_from=ArgumentSource(annotation="zone")),
            "set the annotation zone on the workload",
        ),
    ],
)
def test_an_argument_without_a_value_is_asked_for(argument: Argument, asks: str) -> None:
    found = args_of(of_template(), argument)
    assert isinstance(found, str)
    assert found.endswith(asks)


@pytest.mark.parametrize(
    ("found", "reason"),
    [(None, reasons.ANALYSIS_TEMPLATE_NOT_FOUND), (Forbidden("may not list"), "Forbidden")],
)
def test_a_template_that_is_not_there_measures_nothing(
    found: Forbidden | None, reason: str
) -> None:
    refused = resolved(of_template(), {REF: found}, WORKLOAD)
    assert isinstance(refused, Refusal)
    assert refused.reason == reason
    assert "AnalysisTemplate shared" in refused.message


def test_two_metrics_of_one_name_are_reported() -> None:
    both = Analysis(templates=(REF,), metrics=(ERRORS,))
    refused = resolved(both, {REF: template()}, WORKLOAD)
    assert isinstance(refused, Refusal)
    assert "two metrics are named errors" in refused.message


def test_every_text_of_a_metric_is_filled() -> None:
    words = {"service": name_of_release("web-canary"), "args.zone": Word("eu")}
    asked = PrometheusQuery(
        address="http://{{ args.zone }}",
        query="up{s='{{service}}'}[{{ window }}]",
        samples="{{ service }}",
        headers=(Header("X-Scope-OrgID", "{{ args.zone }}"),),
    )
    page = WebQuery(url="http://{{ service }}/", headers=(Header("h", "{{ service }}"),))
    found = filled(Metric(name="m", prometheus=asked, web=page), words)
    assert found == Metric(
        name="m",
        prometheus=PrometheusQuery(
            address="http://eu",
            query="up{s='web-canary'}[5m]",
            samples="web-canary",
            headers=(Header("X-Scope-OrgID", "eu"),),
        ),
        web=WebQuery(url="http://web-canary/", headers=(Header("h", "web-canary"),)),
    )


def test_a_page_alone_is_filled() -> None:
    page = Metric(name="m", web=WebQuery(url="http://{{ service }}/"))
    found = filled(page, {"service": name_of_release("web")})
    assert found == Metric(name="m", web=WebQuery(url="http://web/"))
    assert filled(Metric(name="m"), {}) == Metric(name="m")


def test_an_empty_word_is_no_value() -> None:
    asked = Metric(name="m", prometheus=PrometheusQuery(query="up{s='{{ service }}'}"))
    found = filled(asked, {"service": Word(""), "step": Word("1")})
    assert isinstance(found, UnknownWord)
    assert found.message == ("metric m: {{ service }} has no value here; known are step, window")


def test_a_golden_metric_becomes_an_ordinary_query() -> None:
    golden = {("istio", "success-rate"): GoldenQuery("good / all", "all")}
    auth = SecretRef("token")
    metric = Metric(name="m", golden=Golden("success-rate", "istio", "http://p", auth=auth))
    found = expanded(metric, golden)
    assert isinstance(found, Metric)
    assert found.prometheus == PrometheusQuery(address="http://p", query="good / all", auth=auth)
    counted = expanded(Metric(name="m", golden=metric.golden, min_samples=9), golden)
    assert isinstance(counted, Metric)
    assert counted.prometheus is not None
    assert counted.prometheus.samples == "all"


def test_an_unknown_golden_metric_is_reported_with_the_known_ones() -> None:
    golden = {("istio", "success-rate"): GoldenQuery("", "")}
    found = expanded(Metric(name="m", golden=Golden("p50", "istio")), golden)
    assert found == "metric m: there is no golden p50 of istio; there are success-rate of istio"


def test_only_a_missing_value_is_solved_by_an_argument() -> None:
    missing = resolved(Analysis(args=(Argument("zone"),)), {}, ObjectMeta())
    assert isinstance(missing, Refusal)
    assert lacks_a_value(missing)
    assert not lacks_a_value(Refusal(reasons.INVALID_ANALYSIS, "analysis: two metrics"))
    assert not lacks_a_value(Refusal(reasons.ANALYSIS_TEMPLATE_NOT_FOUND, missing.message))
