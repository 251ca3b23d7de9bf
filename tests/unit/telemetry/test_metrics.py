"""Names that dashboards rely on, and series that go with their object."""

import inspect

from prometheus_client import CollectorRegistry

from controller.domain.rollout.ends.reported import End
from controller.telemetry.completed import LOOKS, CompletedReleases
from controller.telemetry.metrics import Metrics
from tests.unit.telemetry.page import samples


def test_known_names_of_go_controllers_are_kept() -> None:
    metrics = Metrics()
    metrics.queue_added("rollout")
    metrics.queue_depth("rollout", 3)
    metrics.queue_waited("rollout", 0.1)
    metrics.queue_worked("rollout", 0.1)
    metrics.queue_retried("rollout")
    metrics.reconciled("rollout", "error", 0.1)
    metrics.workers("rollout", 1, 8)
    metrics.requested("GET", "10.0.0.1:443", "200", 0.01)
    metrics.leading("lease", True)
    found = samples(metrics)
    name = (("name", "rollout"),)
    controller = (("controller", "rollout"),)
    assert found["workqueue_depth", name] == 3
    assert found["workqueue_adds_total", name] == 1
    assert found["workqueue_retries_total", name] == 1
    assert found["workqueue_queue_duration_seconds_count", name] == 1
    assert found["workqueue_work_duration_seconds_count", name] == 1
    assert found["controller_runtime_reconcile_total", (*controller, ("result", "error"))] == 1
    assert found["controller_runtime_reconcile_errors_total", controller] == 1
    assert found["controller_runtime_reconcile_time_seconds_count", controller] == 1
    assert found["controller_runtime_active_workers", controller] == 1
    request = (("code", "200"), ("host", "10.0.0.1:443"), ("method", "GET"))
    assert found["rest_client_requests_total", request] == 1
    assert found["leader_election_master_status", (("name", "lease"),)] == 1
    assert any(sample.startswith("process_") for sample, _ in found)


def test_outcomes_are_counted() -> None:
    metrics = Metrics()
    metrics.release_ended("shop", "succeeded", 60)
    metrics.state_entered("StepPaused")
    metrics.state_left("StepPaused", "people", 30)
    metrics.approved()
    metrics.script_ran("OK", 0.01)
    metrics.drifted("put_back")
    metrics.event_dropped("full")
    metrics.admitted("rollouts", True, 0.01)
    metrics.relisted("pods", "gone")
    metrics.undecodable("pods")
    metrics.watched("pods", 5, 100)
    found = samples(metrics)
    assert (
        found[
            "moonshift_rollouts_completed_total", (("namespace", "shop"), ("outcome", "succeeded"))
        ]
        == 1
    )
    assert found["moonshift_approvals_total", ()] == 1
    assert found["moonshift_state_entered_total", (("state", "StepPaused"),)] == 1
    assert found["moonshift_script_calls_total", (("code", "OK"),)] == 1
    assert found["moonshift_drift_total", (("action", "put_back"),)] == 1
    assert found["moonshift_events_dropped_total", (("reason", "full"),)] == 1
    assert found["moonshift_admission_total", (("allowed", "true"), ("webhook", "rollouts"))] == 1
    assert found["moonshift_watch_relists_total", (("reason", "gone"), ("resource", "pods"))] == 1
    assert found["moonshift_watch_events_total", (("resource", "pods"),)] == 5
    assert found["moonshift_cached_objects", (("resource", "pods"),)] == 100


def test_a_kind_that_is_watched_again_is_counted_again() -> None:
    metrics = Metrics()
    metrics.watched("pods", 5, 100)
    metrics.unwatched("pods")
    assert ("moonshift_cached_objects", (("resource", "pods"),)) not in samples(metrics)
    metrics.watched("pods", 2, 30)
    found = samples(metrics)
    assert found["moonshift_cached_objects", (("resource", "pods"),)] == 30
    assert found["moonshift_watch_events_total", (("resource", "pods"),)] == 7


def test_two_registries_do_not_meet() -> None:
    first, second = Metrics(), Metrics()
    first.approved()
    assert samples(second)["moonshift_approvals_total", ()] == 0


def test_no_label_names_a_pod_a_revision_or_a_message() -> None:
    metrics = Metrics()
    forbidden = {"pod", "revision", "message", "uid", "step", "script"}
    for collector in tuple(metrics.registry._collector_to_names):
        labels = set(getattr(collector, "_labelnames", ()))
        assert not labels & forbidden
    assert inspect.getdoc(Metrics.render)


def ends_of(namespace: str, metrics: Metrics) -> dict[str, float]:
    """The counted releases of a namespace, by outcome."""
    return {
        dict(labels)["outcome"]: value
        for (name, labels), value in samples(metrics).items()
        if name == "moonshift_rollouts_completed_total" and dict(labels)["namespace"] == namespace
    }


def test_the_counters_of_a_namespace_go_when_everybody_has_read_their_last_value() -> None:
    registry = CollectorRegistry()
    completed = CompletedReleases(registry)

    def outcomes() -> list[str]:
        found = [sample for family in registry.collect() for sample in family.samples]
        return [s.labels["outcome"] for s in found if s.name.endswith("_total") and s.value]

    completed.look(frozenset({"branch"}))
    completed.ended("branch", End.DELETED)
    for _ in range(LOOKS):
        completed.look(frozenset())
        assert End.DELETED in outcomes()
    completed.look(frozenset())
    assert [m.samples for m in registry.collect()] == [[]]
    completed.look(frozenset({"branch"}))
    assert not outcomes()


def test_counters_of_a_namespace_that_gets_a_rollout_again_go_on() -> None:
    registry = CollectorRegistry()
    completed = CompletedReleases(registry)
    completed.ended("shop", End.SUCCEEDED)
    for _ in range(LOOKS):
        completed.look(frozenset())
    completed.look(frozenset({"shop"}))
    for _ in range(LOOKS):
        completed.look(frozenset())
    labels = {"namespace": "shop", "outcome": End.SUCCEEDED}
    assert registry.get_sample_value("moonshift_rollouts_completed_total", labels) == 1


def test_a_process_that_does_not_lead_forgets_no_counter() -> None:
    metrics = Metrics()
    metrics.release_ended("shop", End.SUCCEEDED, 1)
    for _ in range(LOOKS + 1):
        metrics.look()
    assert ends_of("shop", metrics) == {End.SUCCEEDED: 1}
