"""A Job as a measurement: its name is the measurement's, it has an end, and its texts may hold words."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from controller.api.analysis import Analysis, AnalysisRun, JobQuery, Metric, Reading, ValueRule
from controller.api.jsontree import child
from controller.api.meta import Key, ObjectMeta
from controller.api.names import GATE
from controller.domain.decision import Measure
from controller.domain.gates import jobs
from controller.domain.gates.asking import asked_about
from controller.domain.gates.jobs import Ended, JobCondition, JobStatus
from controller.domain.gates.measurement import Finding, Measurement, read
from controller.domain.gates.origins import name_of_release
from controller.domain.gates.watching import Asked, look
from controller.domain.gates.wording import UnknownWord, filled

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = Key("shop", "web")
LABELS = {"team": "shop", GATE: "another"}
OWNER = ObjectMeta(name="web", namespace="shop", uid="u", labels=LABELS)


def query(seconds: int = 600) -> JobQuery:
    return JobQuery(timeout_seconds=seconds)


def metric(**spec: object) -> Metric:
    return Metric(name="smoke", job=JobQuery(msgspec.Raw(msgspec.json.encode(spec))))


def asked(number: int = 1, gate: str = "1@x", name: str = "smoke") -> Measure:
    return Measure(gate, number, Metric(name=name, job=query()))


def test_the_name_is_the_measurements_own_and_can_be_a_name() -> None:
    names = {
        jobs.job_name(KEY, asked()),
        jobs.job_name(KEY, asked(number=2)),
        jobs.job_name(KEY, asked(gate="1@y")),
        jobs.job_name(KEY, asked(name="smoke.2")),
        jobs.job_name(Key("shop", "w" * 80), asked()),
        jobs.job_name(Key("other", "web"), asked()),
    }
    assert len(names) == 6
    assert jobs.job_name(KEY, asked()) in names
    for name in names:
        assert len(name) <= 63
        assert name.replace("-", "").isalnum()
        assert name == name.lower().strip("-")


@pytest.mark.parametrize(
    ("own", "left", "given"), [(None, 60, 60), (30, 60, 30), (90, 60, 60), (0, 60, 60)]
)
def test_a_job_never_gets_more_time_than_there_is(own: int | None, left: int, given: int) -> None:
    spec: dict[str, Any] = {"template": {}} | (
        {} if own is None else {"activeDeadlineSeconds": own}
    )
    made: dict[str, Any] = jobs.made(OWNER, asked(), spec, left)
    assert made["spec"]["activeDeadlineSeconds"] == given
    assert made["spec"]["ttlSecondsAfterFinished"] == jobs.KEPT_SECONDS
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u"
    assert made["metadata"]["labels"] == {"team": "shop", GATE: "web"}


def test_the_deadline_of_the_gate_bounds_its_job() -> None:
    until = NOW + timedelta(seconds=45.2)
    assert jobs.seconds_left(query(600), Measure("1@x", 1, metric()), NOW) == 600
    assert jobs.seconds_left(query(600), Measure("1@x", 1, metric(), until=until), NOW) == 46
    assert jobs.seconds_left(query(20), Measure("1@x", 1, metric(), until=until), NOW) == 20
    late = Measure("1@x", 1, metric(), until=NOW - timedelta(hours=1))
    assert jobs.seconds_left(query(20), late, NOW) == 1


def test_a_look_gives_the_time_until_which_it_waits() -> None:
    one = metric()
    run = AnalysisRun(step=1, started_at=NOW)
    found = look(Analysis(deadline_seconds=45), run, (Asked(one, one, None),), (), NOW)
    assert [action.until for action in found.actions] == [NOW + timedelta(seconds=45)]


def test_the_conditions_show_the_end() -> None:
    failed = JobCondition("Failed", "True", "BackoffLimitExceeded", "too often")
    assert jobs.ended(JobStatus()) is None
    assert jobs.ended(JobStatus(None)) is None
    assert jobs.ended(JobStatus((JobCondition("FailureTarget", "True"),))) is None
    assert jobs.ended(JobStatus((JobCondition("Failed", "False"),))) is None
    assert jobs.ended(JobStatus((JobCondition("Complete", "True"),))) == Ended(True)
    words = "BackoffLimitExceeded: too often"
    assert jobs.ended(JobStatus((failed,))) == Ended(False, "BackoffLimitExceeded", words)


def test_texts_of_a_job_are_filled_and_an_unknown_word_is_reported() -> None:
    one = metric(template={"args": ["--url", "http://{{ canary.service }}/"], "n": 2, "x": None})
    found = filled(one, {"canary.service": name_of_release("web-canary")})
    assert isinstance(found, Metric)
    assert found.job is not None
    assert jobs.tree(found.job) == {
        "template": {"args": ["--url", "http://web-canary/"], "n": 2, "x": None}
    }
    missing = filled(one, {})
    assert isinstance(missing, UnknownWord)
    assert "canary.service" in missing.message


def test_a_job_has_to_succeed_unless_bounds_are_given() -> None:
    words = dict.fromkeys(
        ("canary.service", "stable.service", "canary.revision", "stable.revision"), "x"
    )
    analysis = Analysis(metrics=(metric(),))
    found = asked_about(analysis, {}, ObjectMeta(), words, {})
    assert isinstance(found, tuple)
    assert found[0].metric.success == ValueRule(min=1)
    own = Metric(name="smoke", job=query(), success=ValueRule(max=0))
    assert jobs.with_bounds(own) == own


def test_the_jobs_own_words_are_the_reason() -> None:
    wanted = jobs.with_bounds(metric())
    failed = Measurement(NOW, value=0.0, words="Job a failed: BackoffLimitExceeded")
    assert read(wanted, failed) == Finding(Reading.BAD, "Job a failed: BackoffLimitExceeded")
    good = Measurement(NOW, value=1.0, words="Job a succeeded")
    assert read(wanted, good) == Finding(Reading.GOOD, "Job a succeeded")


def test_a_spec_that_is_no_object_is_an_empty_one() -> None:
    assert jobs.tree(JobQuery(msgspec.Raw(b"[]"))) == {}


def test_a_name_that_is_too_long_for_a_label_is_in_no_label() -> None:
    for name, labelled in (("a" * 63, True), ("a" * 64, False)):
        job = jobs.made(ObjectMeta(name=name, namespace="shop"), asked(), {}, 5)
        assert (GATE in child(job, "metadata", "labels")) == labelled
