"""One Rollout per workload, the fields that are frozen during a release, and the updates that always pass."""

import copy
from datetime import UTC, datetime

import msgspec
import pytest

from controller.api.conversion import to_v1alpha1
from controller.api.jsontree import JsonObject, changed, child
from controller.api.meta import ObjectMeta
from controller.api.names import (
    ROLLBACK_IN_BATCH,
    ROLLING_STYLE,
    TRACK_CONFIG,
    TRAFFIC_ROUTING,
    V1BETA1,
)
from controller.api.rollout import RolloutSpec, WorkloadRef
from controller.api.validation.rules import Rules
from controller.domain.admission.rollout import admit_rollout, workload_of
from controller.domain.rollout.words.goal import Goal
from tests.unit.domain.admission.objects import rollout


def raw(phase: str = "Healthy", **canary: object) -> JsonObject:
    """A valid v1beta1 Rollout of Deployment `web`."""
    plan = {"steps": [{"replicas": 1}, {"replicas": "50%"}], **canary}
    return {
        "apiVersion": V1BETA1,
        "kind": "Rollout",
        "metadata": {"name": "mine", "namespace": "shop"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "strategy": {"canary": plan},
        },
        "status": {"phase": phase},
    }


def edited(obj: JsonObject, *path: str, to: object) -> JsonObject:
    """A changed copy."""
    return changed(copy.deepcopy(obj), path, to)


def test_a_sound_rollout_passes() -> None:
    assert admit_rollout(None, raw(), ()).findings == ()


@pytest.mark.parametrize("version", ["apps/v1", "apps/v1beta1"])
def test_a_workload_has_one_rollout_over_all_versions(version: str) -> None:
    obj = edited(raw(), "spec", "workloadRef", "apiVersion", to=version)
    verdict = admit_rollout(None, obj, [rollout()])
    assert "Rollout r releases Deployment web already" in verdict.message


def test_conflicts_are_seen_through_v1alpha1() -> None:
    assert admit_rollout(None, to_v1alpha1(raw()), [rollout()]).findings


def test_no_rollout_conflicts_with_itself_or_with_a_deleted_one() -> None:
    going = msgspec.structs.replace(
        rollout(),
        metadata=ObjectMeta(name="x", deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC)),
    )
    other = msgspec.structs.replace(
        rollout(name="y"), spec=RolloutSpec(workload_ref=WorkloadRef("apps/v1", "Deployment", "b"))
    )
    assert not admit_rollout(None, raw(), [rollout(name="mine"), going, other]).findings


FROZEN = [
    pytest.param(("spec", "workloadRef", "name"), "other", "the workload", id="workload"),
    pytest.param(
        ("spec", "strategy", "canary", "trafficRoutings"),
        [{"service": "a", "gateway": {"httpRouteName": "h"}}],
        "what leads the traffic",
        id="traffic",
    ),
    pytest.param(
        ("spec", "strategy", "canary", "trafficRoutingRef"),
        "lane",
        "the shared TrafficRouting",
        id="shared-traffic",
    ),
    pytest.param(
        ("spec", "strategy", "canary", "enableExtraWorkloadForCanary"),
        True,
        "the style",
        id="style",
    ),
    pytest.param(
        ("spec", "strategy"),
        {"blueGreen": {"steps": [{"replicas": 1}] * 2}},
        "the style",
        id="blue",
    ),
]


def stopped(reason: str, *, stalled: str) -> JsonObject:
    """A Rollout under release, with these two conditions."""
    conditions = [
        {"type": "Progressing", "status": "True", "reason": reason},
        {"type": "Stalled", "status": stalled},
    ]
    return edited(raw("Progressing"), "status", "conditions", to=conditions)


CORRECTIONS = [
    pytest.param("trafficRoutingRef", "lane", id="shared-traffic"),
    pytest.param("trafficRoutings", [{"service": "web", "ingress": {"name": "web"}}], id="routes"),
]


@pytest.mark.parametrize(("field", "value"), CORRECTIONS)
def test_a_reference_may_be_corrected_while_its_mistake_stops_the_first_move(
    field: str, value: object
) -> None:
    old = stopped("Initializing", stalled="True")
    correction = edited(old, "spec", "strategy", "canary", field, to=value)
    assert admit_rollout(old, correction, ()).findings == ()


@pytest.mark.parametrize(("field", "value"), CORRECTIONS)
@pytest.mark.parametrize(("reason", "stalled"), [("Initializing", "False"), ("InRolling", "True")])
def test_a_reference_is_frozen_once_a_release_can_move(
    reason: str, stalled: str, field: str, value: object
) -> None:
    old = stopped(reason, stalled=stalled)
    correction = edited(old, "spec", "strategy", "canary", field, to=value)
    assert "cannot change while the phase is Progressing" in (
        admit_rollout(old, correction, ()).message
    )


@pytest.mark.parametrize(("field", "value"), CORRECTIONS)
def test_a_reference_is_frozen_while_the_routes_of_an_abandoned_revision_are_restored(
    field: str, value: object
) -> None:
    old = edited(
        stopped("Initializing", stalled="True"), "status", "moonshift", to={"goal": Goal.CONTINUOUS}
    )
    correction = edited(old, "spec", "strategy", "canary", field, to=value)
    assert "cannot change while the phase is Progressing" in (
        admit_rollout(old, correction, ()).message
    )


@pytest.mark.parametrize(("path", "value", "what"), FROZEN)
@pytest.mark.parametrize("phase", ["Progressing", "Terminating", "Disabling"])
def test_frozen_while_busy(phase: str, path: tuple[str, ...], value: object, what: str) -> None:
    verdict = admit_rollout(raw(phase), edited(raw(phase), *path, to=value), ())
    assert f"{what}" in verdict.message
    assert f"cannot change while the phase is {phase}" in verdict.message


@pytest.mark.parametrize(("path", "value", "what"), FROZEN)
@pytest.mark.parametrize("phase", ["", "Initial", "Healthy", "Disabled"])
def test_free_while_idle(phase: str, path: tuple[str, ...], value: object, what: str) -> None:
    assert not admit_rollout(raw(phase), edited(raw(phase), *path, to=value), ()).findings, what


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "strategy", "paused"), True),
        (("spec", "disabled"), True),
        (("spec", "strategy", "canary", "failureThreshold"), 1),
        (("spec", "strategy", "canary", "steps"), [{"replicas": 2}, {"replicas": "20%"}]),
    ],
)
def test_the_plan_may_be_edited_during_a_release(path: tuple[str, ...], value: object) -> None:
    obj = raw("Progressing")
    assert not admit_rollout(obj, edited(obj, *path, to=value), ()).findings


def in_step(index: int, *sizes: object) -> JsonObject:
    """A release in flight at step `index`."""
    obj = raw("Progressing", steps=[{"replicas": size} for size in sizes])
    return edited(obj, "status", "currentStepIndex", to=index)


@pytest.mark.parametrize(
    ("index", "before", "after", "allowed"),
    [
        (1, (1, 2, 3), (1, 3), True),
        (1, (1, 2), (1, 2, 3, 4), True),
        (2, (1, 2, 3), (1, 2), True),
        (2, (1, 2, 3), (1, 3), False),
        (3, (1, 2, 3), (1, 2), False),
        (0, (1, 2), (2,), False),
        (2, (1, 2, 3), (2, 3, 4), True),
    ],
)
def test_the_number_of_steps_may_change_behind_the_present_one(
    index: int, before: tuple[int, ...], after: tuple[int, ...], allowed: bool
) -> None:
    obj = in_step(index, *before)
    other = edited(
        obj, "spec", "strategy", "canary", "steps", to=[{"replicas": size} for size in after]
    )
    assert bool(admit_rollout(obj, other, ()).findings) is not allowed


THREE = [{"replicas": 1}, {"replicas": 2}, {"replicas": 3}]


def test_a_number_of_steps_that_is_ambiguous_is_refused_in_v1beta1_alone() -> None:
    obj = in_step(2, 1, 2, 3)
    fewer = edited(obj, "spec", "strategy", "canary", "steps", to=[{"replicas": 3}])
    refused = admit_rollout(obj, fewer, ()).message
    assert "leave the replicas of the first 2 as they are" in refused
    assert "spec.strategy.canary.steps" in refused
    assert not admit_rollout(to_v1alpha1(obj), to_v1alpha1(fewer), ()).findings
    assert not admit_rollout(raw("Disabling"), fewer, ()).findings


def test_an_ambiguous_number_of_steps_is_reported_at_the_steps_of_its_style() -> None:
    obj = changed(in_step(2, 1, 2, 3), ("spec", "strategy"), {"blueGreen": {"steps": THREE}})
    fewer = changed(obj, ("spec", "strategy", "blueGreen", "steps"), THREE[2:])
    assert "spec.strategy.blueGreen.steps" in admit_rollout(obj, fewer, ()).message


def test_the_style_annotation_is_frozen_in_v1alpha1() -> None:
    obj = to_v1alpha1(raw("Progressing"))
    other = edited(obj, "metadata", "annotations", to={ROLLING_STYLE: "canary"})
    assert "the style" in admit_rollout(obj, other, ()).message


def test_an_update_that_changes_nothing_judged_always_passes() -> None:
    wrong = raw(steps=[])
    assert admit_rollout(None, wrong, ()).findings
    labelled = edited(wrong, "metadata", "labels", to={"a": "b"})
    assert not admit_rollout(wrong, labelled, [rollout()]).findings


def test_each_warning_is_looked_for_once_among_the_former_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0

    class Text(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, str(other))

    def many(*_: object) -> tuple[str, ...]:
        return tuple(Text(number) for number in range(500))

    monkeypatch.setattr("controller.domain.admission.rollout._advice", many)
    assert admit_rollout(raw(), raw(), ()).warnings == ()
    assert compared <= 2 * 500


def test_a_rollout_that_is_being_deleted_always_passes() -> None:
    gone = edited(raw(steps=[]), "metadata", "deletionTimestamp", to="2026-01-01T00:00:00Z")
    assert not admit_rollout(raw(), gone, ()).findings


def test_an_unconvertible_object_is_judged_by_its_fields() -> None:
    obj = to_v1alpha1(raw())
    empty = edited(obj, "spec", "objectRef", to={})
    assert "spec.objectRef.workloadRef: Required value" in admit_rollout(None, empty, ()).message
    assert admit_rollout(empty, obj, ()).findings == ()


def test_several_findings_are_listed() -> None:
    verdict = admit_rollout(None, edited(raw(steps=[]), "spec", "workloadRef", to={}), ())
    assert verdict.message.startswith("[spec.workloadRef.apiVersion: Required value: ")
    assert verdict.message.endswith("]")


def test_old_and_new_may_be_of_other_versions() -> None:
    obj = raw("Progressing")
    assert not admit_rollout(to_v1alpha1(obj), obj, ()).findings
    assert child(obj, "spec")


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(
            {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
            id="v1beta1",
        ),
        pytest.param(
            {
                "objectRef": {
                    "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
                }
            },
            id="v1alpha1",
        ),
    ],
)
def test_the_workload_is_found_in_either_version(spec: JsonObject) -> None:
    assert workload_of({"spec": spec}) == WorkloadRef("apps/v1", "Deployment", "web")


def test_a_rollout_that_names_no_workload_has_none() -> None:
    assert workload_of({}) == WorkloadRef()


def tracked(value: str) -> JsonObject:
    return edited(raw(), "metadata", "annotations", TRACK_CONFIG, to=value)


def test_a_request_for_tracking_without_the_flag_is_accepted_with_a_warning() -> None:
    verdict = admit_rollout(raw(), tracked("true"), ())
    assert verdict.findings == ()
    assert "--track-config" in verdict.warnings[0]
    with_flag = Rules(tracks_config=True)
    assert admit_rollout(raw(), tracked("true"), (), with_flag).warnings == ()
    assert admit_rollout(raw(), tracked("false"), ()).warnings == ()


def test_a_wrong_word_for_tracking_is_warned_of() -> None:
    (warning,) = admit_rollout(None, tracked("yes"), (), Rules(tracks_config=True)).warnings
    assert "'yes' is neither true nor false" in warning


def with_annotation(name: str, value: str, phase: str = "Healthy") -> JsonObject:
    return edited(raw(phase), "metadata", "annotations", to={name: value})


@pytest.mark.parametrize("to", ["other", None])
def test_the_shared_trafficrouting_of_the_annotation_stays_during_a_release(
    to: str | None,
) -> None:
    old = with_annotation(TRAFFIC_ROUTING, "lane", "Progressing")
    new = edited(old, "metadata", "annotations", TRAFFIC_ROUTING, to=to)
    assert "the shared TrafficRouting cannot change" in admit_rollout(old, new, ()).message


def test_the_annotation_and_the_field_may_name_the_same_trafficrouting() -> None:
    old = with_annotation(TRAFFIC_ROUTING, "lane", "Progressing")
    new = edited(old, "spec", "strategy", "canary", "trafficRoutingRef", to="lane")
    assert admit_rollout(old, new, ()).findings == ()


def test_an_annotation_without_effect_is_reported_to_the_one_who_adds_it() -> None:
    old, new = raw(), with_annotation(ROLLBACK_IN_BATCH, "true")
    (warning,) = admit_rollout(old, new, ()).warnings
    assert ROLLBACK_IN_BATCH in warning
    assert admit_rollout(new, edited(new, "metadata", "labels", to={"a": "b"}), ()).warnings == ()
