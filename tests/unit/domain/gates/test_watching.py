"""Each measurement counts once, even if it is reported twice, late, or by an earlier leader."""

from datetime import UTC, datetime, timedelta

from msgspec import structs

from controller.api.analysis import Analysis, AnalysisRun, Metric, ValueRule, Verdict
from controller.domain.gates.measurement import Measurement
from controller.domain.gates.watching import Answer, Asked, gate_name, look

NOW = datetime(2026, 1, 1, tzinfo=UTC)
METRIC = Metric(name="errors", success=ValueRule(max=1), count=2, interval="10s")
ASKED = (Asked(METRIC, METRIC, None),)
RUN = AnalysisRun(step=1, started_at=NOW)


def answer(number: int, value: float = 0.0, gate: str = gate_name(RUN)) -> Answer:
    return Answer(gate, "errors", number, Measurement(NOW, value=value))


def test_a_due_measurement_is_requested_with_its_number() -> None:
    found = look(Analysis(), RUN, ASKED, (), NOW)
    assert [(one.gate, one.number) for one in found.actions] == [(gate_name(RUN), 1)]
    again = look(Analysis(), found.run, ASKED, (), NOW)
    assert again.actions == found.actions


def test_an_answer_counts_once() -> None:
    once = look(Analysis(), RUN, ASKED, (answer(1),), NOW)
    assert once.run.metrics[0].taken == 1
    assert once.due == NOW + timedelta(seconds=10)
    twice = look(Analysis(), once.run, ASKED, (answer(1),), NOW)
    assert twice.run == once.run


def test_answers_of_another_start_do_not_count() -> None:
    other = gate_name(structs.replace(RUN, started_at=NOW - timedelta(hours=1)))
    assert look(Analysis(), RUN, ASKED, (answer(1, gate=other),), NOW).run.metrics[0].taken == 0
    assert look(Analysis(), RUN, ASKED, (answer(2),), NOW).run.metrics[0].taken == 0


def test_a_verdict_ends_the_gate_and_stays() -> None:
    bad = look(Analysis(), RUN, ASKED, (answer(1, 9.0),), NOW)
    assert (bad.run.verdict, bad.actions, bad.due) == (Verdict.FAILED, (), None)
    later = look(Analysis(), bad.run, ASKED, (answer(2),), NOW + timedelta(hours=1))
    assert later.run == bad.run


def test_a_metric_that_a_template_gains_is_measured_too() -> None:
    first = look(Analysis(), RUN, ASKED, (answer(1),), NOW)
    added = structs.replace(METRIC, name="latency")
    found = look(Analysis(), first.run, (*ASKED, Asked(added, added, None)), (), NOW)
    assert [one.metric.name for one in found.actions] == ["latency"]


def test_a_run_without_a_start_counts_from_now() -> None:
    run = AnalysisRun(step=1)
    found = look(Analysis(deadline_seconds=60), run, ASKED, (), NOW)
    assert found.due == NOW + timedelta(seconds=60)
    assert gate_name(run) == "1@"


def test_the_background_has_no_deadline() -> None:
    run = AnalysisRun(step=0, started_at=NOW - timedelta(days=1))
    assert look(Analysis(deadline_seconds=60), run, ASKED, (), NOW).run.verdict == Verdict.RUNNING
