"""The Rollout as a whole: phases, conditions, kstatus, refused Rollouts, and the fields that are always written."""

import msgspec
import pytest
from msgspec import structs

from controller.api import names
from controller.api.meta import Condition, Key, ObjectMeta
from controller.api.networking import ServiceSpec
from controller.api.rollout import (
    BlueGreenStrategy,
    CanaryStrategy,
    MoonshiftStatus,
    Phase,
    Rollout,
    RolloutStatus,
    StepState,
    Strategy,
    WorkloadRef,
)
from controller.api.workload_kinds import DEPLOYMENT
from controller.api.workloads import template_hash
from controller.domain import reasons
from controller.domain.availability import NotServed
from controller.domain.decision import (
    Decision,
    PrepareRollout,
    Reference,
    Refusal,
    RestoreRoutes,
    SetMetadata,
    Severity,
    UnpinService,
)
from controller.domain.observation import WorkloadUnreadable
from controller.domain.rollout import phases
from controller.domain.rollout.phases import decide, refused
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.status import (
    condition,
    progressing,
    with_condition,
    with_kstatus,
)
from controller.domain.rollout.words.transition import Continue
from tests.unit.builders import (
    KEY,
    NOW,
    inner_of,
    make_rollout,
    make_steps,
    make_world,
    release,
    status_of,
    template,
    with_spec,
)
from tests.unit.domain.rollout.scenes import approve, history, seconds, started
from tests.unit.worlds import World

REQUIRED = {
    "observedWorkloadGeneration",
    "observedRolloutID",
    "rolloutHash",
    "stableRevision",
    "canaryRevision",
    "podTemplateHash",
    "canaryReplicas",
    "canaryReadyReplicas",
    "currentStepIndex",
    "nextStepIndex",
    "currentStepState",
    "finalisingStep",
    "message",
}


def decided(world: World) -> Decision:
    seen = world.observe(KEY)
    assert seen is not None
    return decide(seen, world.cluster.now)


def value(status: RolloutStatus, kind: str) -> tuple[str, str]:
    found = condition(status, kind)
    assert found is not None
    return found.status, found.reason


# --- between releases ---------------------------------------------------------------------------


def test_a_new_rollout_takes_finalizer_hash_and_label_and_is_healthy() -> None:
    world = make_world()
    rollout = world.cluster.rollouts[KEY]
    assert rollout.metadata.finalizers == (names.ROLLOUT_FINALIZER,)
    assert rollout.metadata.annotations[names.PLAN_HASH]
    assert world.cluster.deployments[KEY].metadata.labels == {names.WORKLOAD_TYPE: "deployment"}
    assert rollout.status.phase == Phase.HEALTHY
    assert rollout.status.message == "workload deployment is completed"


def test_the_first_pass_has_the_housekeeping_before_everything_else() -> None:
    world = make_world()
    world.cluster.rollouts.remove(KEY)
    world.cluster.rollouts.put(make_rollout())
    workload = world.cluster.deployments[KEY]
    bare = structs.replace(workload, metadata=structs.replace(workload.metadata, labels={}))
    world.cluster.deployments.put(bare)
    prepare, label = decided(world).actions
    assert isinstance(prepare, PrepareRollout)
    assert label == SetMetadata(
        DEPLOYMENT, KEY, bare.metadata.uid, labels={names.WORKLOAD_TYPE: "deployment"}
    )


def test_a_change_before_the_workload_was_labelled_is_reported_once() -> None:
    """Between the creation of a Rollout and the label, admission is not asked; that is milliseconds."""
    world = make_world()
    world.cluster.rollouts.remove(KEY)
    workload = world.cluster.deployments[KEY]
    bare = structs.replace(
        workload,
        metadata=structs.replace(workload.metadata, labels={}),
        spec=structs.replace(workload.spec, template=template("v2")),
    )
    world.cluster.deployments.put(bare)
    world.run_until(lambda: len([rs for rs in world.cluster.replica_sets if rs.active]) == 2)
    world.cluster.rollouts.put(make_rollout())
    assert [note.reason for note in decided(world).notes] == [reasons.NOT_HELD]
    world.rest()
    assert decided(world).notes == ()
    assert status_of(world).phase == Phase.HEALTHY


@pytest.mark.parametrize("released", [False, True])
def test_the_template_of_another_workload_is_no_change(released: bool) -> None:
    """The Rollout names another workload now, or its workload was deleted and created again."""
    world = started() if released else make_world()
    for _ in range(2 if released else 0):
        approve(world)
    workload = world.cluster.deployments[KEY]
    world.cluster.deployments.remove(KEY)
    world.cluster.deployments.put(
        structs.replace(
            workload,
            metadata=structs.replace(workload.metadata, uid="another"),
            spec=structs.replace(workload.spec, template=template("v7")),
        )
    )
    decision = decided(world)
    assert decision.notes == ()
    assert decision.status.phase == Phase.HEALTHY
    assert condition(decision.status, "Succeeded") is None
    ours = decision.status.moonshift
    assert isinstance(ours, MoonshiftStatus)
    assert (ours.template_of, ours.workload_uid, ours.visits) == ("another", "", ())


def test_between_releases_clients_find_a_finished_sub_status() -> None:
    inner = inner_of(make_world())
    assert inner.current_step_state == StepState.COMPLETED
    assert (inner.current_step_index, inner.next_step_index) == (2, -1)
    assert inner.observed_rollout_id == inner.canary_revision
    assert inner.stable_revision == inner.pod_template_hash


def test_a_world_at_rest_is_decided_on_without_a_change() -> None:
    world = make_world()
    decision = decided(world)
    assert decision.actions == ()
    assert decision.notes == ()
    assert decision.wake_at is None
    assert decision.status == status_of(world)


def test_the_workload_without_a_replica_set_yet_has_no_stable_revision() -> None:
    world = make_world()
    seen = world.observe(KEY)
    assert seen is not None
    assert seen.workload is not None
    bare = structs.replace(seen.workload, replica_sets=(), pods=())
    fresh = structs.replace(seen.rollout, status=RolloutStatus())
    status = decide(structs.replace(seen, rollout=fresh, workload=bare), NOW).status
    assert not isinstance(status.canary_status, msgspec.UnsetType)
    assert status.canary_status.stable_revision == ""


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rollout", "reason"),
    [
        pytest.param(
            with_spec(
                make_rollout(ref=WorkloadRef("apps/v1", "StatefulSet", "web")),
                strategy=Strategy(blue_green=BlueGreenStrategy()),
            ),
            reasons.UNSUPPORTED_STYLE,
            id="blue-green of a StatefulSet",
        ),
        pytest.param(
            with_spec(make_rollout(), strategy=Strategy(canary=CanaryStrategy())),
            reasons.INVALID_ROLLOUT,
            id="no steps",
        ),
    ],
)
def test_a_workload_that_cannot_be_released_is_reported_once_and_not_touched(
    rollout: Rollout, reason: str
) -> None:
    world = make_world(rollout)
    status = status_of(world)
    assert value(status, "Stalled") == ("True", reason)
    assert value(status, "Ready")[0] == "False"
    assert status.phase == Phase.INITIAL
    assert status.message
    assert world.cluster.deployments[KEY].metadata.labels == {}
    assert decided(world).notes == ()
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert world.cluster.rollouts.get(KEY) is None


def test_a_workload_that_cannot_be_read_is_reported_and_nothing_is_concluded_from_its_absence() -> (
    None
):
    world = started()
    seen = world.observe(KEY)
    assert seen is not None
    problem = WorkloadUnreadable("Forbidden", "statefulsets.apps is forbidden")
    blind = structs.replace(seen, workload=None, workload_problem=problem)
    decision = decide(blind, NOW)
    assert value(decision.status, "Stalled") == ("True", "Forbidden")
    assert decision.status.phase == Phase.PROGRESSING
    assert decision.actions == ()
    deleting = structs.replace(seen.rollout.metadata, deletion_timestamp=NOW)
    going = structs.replace(blind, rollout=structs.replace(seen.rollout, metadata=deleting))
    assert decide(going, NOW).actions == ()
    assert value(decide(going, NOW).status, "Stalled") == ("True", "Forbidden")


def test_a_rollout_goes_when_its_workloads_kind_is_no_longer_served() -> None:
    world = started()
    seen = world.observe(KEY)
    assert seen is not None
    deleting = structs.replace(seen.rollout.metadata, deletion_timestamp=NOW)
    going = structs.replace(
        seen,
        rollout=structs.replace(seen.rollout, metadata=deleting),
        workload=None,
        workload_problem=WorkloadUnreadable("KindNotServed", "why", NotServed("why")),
    )
    unpinned = {
        name: structs.replace(found, spec=ServiceSpec({"app": "web"}), metadata=ObjectMeta())
        for name, found in seen.services.items()
    }
    assert [type(action) for action in decide(going, NOW).actions] == [UnpinService]
    going = structs.replace(going, services=unpinned)
    assert isinstance(decide(going, NOW).actions[0], RestoreRoutes)


def test_a_refused_action_is_reported_in_status_and_once_as_an_event() -> None:
    world = started()
    seen = world.observe(KEY)
    assert seen is not None
    decision = decide(seen, NOW)
    no = Refusal("ScriptFailed", "line 3: nil", object="VirtualService web", script="x", line=3)
    reported = refused(seen, decision, no, NOW)
    assert reported.status.message == "line 3: nil"
    assert value(reported.status, "Stalled") == ("True", "ScriptFailed")
    assert [(note.reason, note.severity) for note in reported.notes] == [
        ("ScriptFailed", Severity.WARNING)
    ]
    again = structs.replace(seen, rollout=structs.replace(seen.rollout, status=reported.status))
    assert refused(again, decide(again, NOW), no, NOW).notes == ()


def test_a_pass_that_finds_no_rest_stops_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def round_and_round(release: Release) -> Continue:
        return release.entering(StepState.STEP_READY).go_on()

    monkeypatch.setattr(phases, "_transition", round_and_round)
    decision = decided(make_world())
    assert decision.notes[-1].reason == "Looping"
    assert decision.actions == ()


# --- phases and conditions ----------------------------------------------------------------------


def test_clients_see_the_phases_and_reasons_of_a_release_in_order() -> None:
    world = make_world(make_rollout(steps=make_steps("20%", "100%", pause=0)))
    seen = history(
        world,
        lambda: (
            status_of(world).phase,
            (condition(status_of(world), "Progressing") or Condition("", "")).reason,
        ),
    )
    release(world)
    world.rest()
    assert seen == [
        (Phase.HEALTHY, ""),
        (Phase.PROGRESSING, reasons.INITIALIZING),
        (Phase.PROGRESSING, reasons.IN_ROLLING),
        (Phase.PROGRESSING, reasons.FINALISING),
        (Phase.HEALTHY, reasons.COMPLETED),
    ]


def test_the_status_never_loses_a_field_that_clients_read() -> None:
    world = make_world()
    missing: list[set[str]] = []

    def look() -> None:
        tree = msgspec.json.decode(msgspec.json.encode(world.intended(KEY)))
        missing.append(REQUIRED - tree["canaryStatus"].keys())
        missing.append({"phase", "message", "currentStepIndex", "currentStepState"} - tree.keys())
        assert tree["currentStepState"] == tree["canaryStatus"]["currentStepState"]
        assert isinstance(tree["observedGeneration"], int)

    world.watchers.append(look)
    release(world)
    world.rest()
    approve(world)
    release(world, "v1")
    world.rest()
    assert missing
    assert not set().union(*missing)


@pytest.mark.parametrize(
    ("phase", "ready", "reconciling"),
    [
        (Phase.INITIAL, "False", "False"),
        (Phase.HEALTHY, "True", "False"),
        (Phase.PROGRESSING, "False", "True"),
        (Phase.TERMINATING, "False", "True"),
        (Phase.DISABLING, "False", "True"),
        (Phase.DISABLED, "True", "False"),
    ],
)
def test_kstatus_follows_the_phase(phase: Phase, ready: str, reconciling: str) -> None:
    status = with_kstatus(RolloutStatus(phase=phase, message="what happens"), None, NOW)
    assert value(status, "Ready") == (ready, phase)
    assert value(status, "Reconciling")[0] == reconciling
    assert value(status, "Stalled")[0] == "False"
    by_type = {c.type: c.message for c in status.conditions}
    assert by_type["Ready"] == ("" if ready == "True" else "what happens"), (
        "what waits for it shows it"
    )
    assert by_type["Reconciling"] == ("what happens" if reconciling == "True" else "")
    stalled = with_kstatus(status, Refusal("Why", "because"), NOW)
    assert value(stalled, "Stalled") == ("True", "Why")
    assert value(stalled, "Ready")[0] == "False"


def test_a_condition_that_says_the_same_keeps_its_times() -> None:
    first = with_condition(RolloutStatus(), "Progressing", "True", "A", "a", NOW)
    assert with_condition(first, "Progressing", "True", "A", "a", NOW + seconds(9)) is first


def test_another_reason_moves_the_update_time_and_another_value_the_transition_time() -> None:
    first = with_condition(RolloutStatus(), "Progressing", "True", "A", "a", NOW)
    later, last = NOW + seconds(5), NOW + seconds(9)
    reasoned = condition(
        with_condition(first, "Progressing", "True", "B", "b", later), "Progressing"
    )
    assert reasoned is not None
    assert (reasoned.last_update_time, reasoned.last_transition_time) == (later, NOW)
    turned = condition(with_condition(first, "Progressing", "False", "B", "b", last), "Progressing")
    assert turned is not None
    assert (turned.last_update_time, turned.last_transition_time) == (last, last)


def test_completed_is_the_only_reason_that_says_progressing_is_false() -> None:
    done = progressing(RolloutStatus(), reasons.COMPLETED, "done", NOW)
    assert value(done, "Progressing") == ("False", reasons.COMPLETED)
    assert done.message == "done"
    assert value(progressing(done, reasons.IN_ROLLING, "x", NOW), "Progressing")[0] == "True"


def test_the_succeeded_condition_goes_when_the_next_release_begins() -> None:
    world = started()
    approve(world)
    approve(world)
    assert value(status_of(world), "Succeeded")[0] == "True"
    release(world, "v3")
    world.rest()
    assert condition(status_of(world), "Succeeded") is None


def test_the_status_has_the_observed_generation() -> None:
    world = started()
    rollout = world.cluster.rollouts[KEY]
    later = structs.replace(rollout.metadata, generation=rollout.metadata.generation + 1)
    seen = world.observe(KEY)
    assert seen is not None
    seen = structs.replace(seen, rollout=structs.replace(rollout, metadata=later))
    reported = decide(seen, NOW).status
    assert reported.observed_generation == later.generation > rollout.status.observed_generation > 0


# --- values -------------------------------------------------------------------------------------


def test_references_and_keys_name_themselves() -> None:
    reference = Reference("networking.istio.io/v1", "VirtualService", "web", "web", "web-canary")
    assert (reference.group, str(reference)) == ("networking.istio.io", "VirtualService/web")
    assert not reference.shared
    assert structs.replace(reference, canary_service="web").shared
    assert structs.replace(reference, api_version="v1").group == ""
    assert (str(Key("shop", "web")), str(Key("", "node"))) == ("shop/web", "node")


def test_a_template_without_labels_has_an_identity_too() -> None:
    assert template_hash(b"") == template_hash(b'{"metadata":{"labels":null},"spec":{}}')
    assert template_hash(b'{"spec":{"a":1}}') != template_hash(b"{}")
