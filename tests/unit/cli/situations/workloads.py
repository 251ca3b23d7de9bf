"""Situations of workloads: they are missing, paused, held by others, or cannot be released."""

import msgspec
from msgspec import structs

from controller.api import names
from controller.api.jsontree import JsonObject
from controller.api.meta import Key, ObjectMeta
from controller.api.rollout import (
    BlueGreenStrategy,
    CanaryStrategy,
    Phase,
    RolloutSpec,
    Strategy,
    WorkloadRef,
)
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.simulation.state import resource_of_kind
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    SETS,
    lose_kept,
    make_deployment,
    make_pod_set,
    make_rollout,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    release_set,
    status_of,
    template,
    wait,
    with_spec,
    workload_of,
)
from tests.unit.cli.situations.situation import (
    Act,
    Situation,
    rollout_edited,
    undo,
)
from tests.unit.domain.rollout.moving.test_autoscalers import resumed_by_another_writer
from tests.unit.domain.rollout.moving.test_from_zero import at_half
from tests.unit.domain.rollout.scenes import approve, started
from tests.unit.domain.rollout.styles.test_blue_green import autoscaled, blue_green
from tests.unit.domain.rollout.styles.test_doubled import blue_green as doubled
from tests.unit.domain.rollout.styles.test_doubled import clone_set
from tests.unit.domain.rollout.tracking import tracking
from tests.unit.worlds import World

OTHER = Key(NAMESPACE, "other")


def resumed(world: World) -> None:
    """`kubectl rollout resume`."""
    world.people.edit(KEY, paused=False)


def pause_taken_back(world: World) -> None:
    """`kubectl patch`: the update strategy without its pause."""
    found = world.cluster.pod_sets[KEY].spec.update_strategy
    strategy = {**msgspec.json.decode(found), "paused": False}
    world.people.edit_set(KEY, update_strategy=msgspec.Raw(msgspec.json.encode(strategy)))


def paused_by_its_owner() -> World:
    world = make_world()
    release(world)
    world.rest()
    world.people.edit(KEY, paused=True)
    approve(world)
    return world


def set_paused_by_its_owner() -> World:
    pod_set = make_pod_set("CloneSet", strategy={"paused": True})
    steps = make_steps("20%", "40%", traffic=False)
    world = make_set_world("CloneSet", pod_set, strategy=make_strategy(steps=steps, traffic=False))
    release_set(world)
    world.rest()
    return world


def gone() -> World:
    world = started(watched=False)
    world.cluster.deployments.delete(KEY)
    world.rest()
    return world


def made_again(world: World) -> None:
    """`kubectl apply -f FILE`: the manifest of the workload."""
    world.cluster.deployments.put(make_deployment())


def of_workload(ref: WorkloadRef) -> Act:
    """`kubectl edit rollout web`: it names another workload."""

    def act(world: World) -> None:
        meta = structs.replace(make_deployment().metadata, name=ref.name)
        if ref.name != KEY.name:
            world.cluster.deployments.put(structs.replace(make_deployment(), metadata=meta))
        world.people.change(KEY, lambda spec: structs.replace(spec, workload_ref=ref))

    return act


DEPLOYMENT = WorkloadRef("apps/v1", "Deployment", "web")
QUEUE = WorkloadRef("queue.example/v1", "Queue", "web")
ANOTHER = WorkloadRef("apps/v1", "Deployment", "other")


def of_a_kind_that_is_not_labelled() -> World:
    world = make_world()
    resource = resource_of_kind(QUEUE.api_version, QUEUE.kind)
    body: JsonObject = {
        "apiVersion": QUEUE.api_version,
        "kind": QUEUE.kind,
        "metadata": {"name": KEY.name, "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {}},
    }
    world.cluster.server.storage.put((resource.group, resource.plural), KEY, body)
    world.people.change(KEY, lambda spec: structs.replace(spec, workload_ref=QUEUE))
    world.rest()
    return world


def with_an_id_that_no_pod_can_have() -> World:
    world = make_world()
    spec = structs.replace(workload_of(world).spec, template=template("v2"))
    world.people.replace(KEY, spec, {names.ROLLOUT_ID: "build 5 / main"})
    world.rest()
    return world


def id_corrected(world: World) -> None:
    """`kubectl annotate`: another rollout-id."""
    found = workload_of(world).metadata.annotations
    world.people.annotate(KEY, {**found, names.ROLLOUT_ID: "build-5"})


def of_a_style_that_its_kind_lacks() -> World:
    plan = Strategy(blue_green=BlueGreenStrategy(steps=make_steps("20%", "50%")))
    rollout = make_rollout(ref=SETS["StatefulSet"])
    world = make_set_world("StatefulSet")
    world.cluster.rollouts.remove(KEY)
    world.cluster.rollouts.put(with_spec(rollout, strategy=plan))
    world.rest()
    return world


def of_a_clone_set_that_cannot_be_doubled() -> World:
    world = doubled(pod_set=clone_set(strategy={"type": "InPlaceOnly"}))
    release_set(world)
    world.rest()
    return world


def set_undone(world: World) -> None:
    """`moonshift undo` of a set of pods."""
    release_set(world, "v1")


def with_a_copy_that_is_not_ours() -> World:
    world = tracking(watched=False)
    world.people.disable(KEY)
    world.rest()
    text = "ConfigMap/web-config exists and is no copy of ours: rename or remove it"
    world.people.forbid("KeepConfig", Refusal(reasons.CONFIG_NOT_OURS, text))
    world.people.disable(KEY, False)
    world.rest()
    return world


def not_tracked(world: World) -> None:
    """`kubectl edit rollout web`: without the annotation that asks for tracking."""
    rollout = world.cluster.rollouts[KEY]
    left = {k: v for k, v in rollout.metadata.annotations.items() if k != names.TRACK_CONFIG}
    meta = structs.replace(rollout.metadata, annotations=left)
    world.cluster.rollouts.put(structs.replace(rollout, metadata=meta))


def in_canary_style(spec: RolloutSpec) -> RolloutSpec:
    """A plan that every kind supports."""
    return structs.replace(spec, strategy=Strategy(canary=make_strategy()))


def without_steps() -> World:
    world = make_world(with_spec(make_rollout(), strategy=Strategy(canary=CanaryStrategy())))
    world.rest()
    return world


def without_steps_halfway() -> World:
    world = started(watched=False)
    world.people.replan(KEY, ())
    world.rest()
    return world


def held_by_another_rollout() -> World:
    first = structs.replace(
        make_rollout(), metadata=ObjectMeta(name=OTHER.name, namespace=NAMESPACE)
    )
    world = make_world(first)
    release(world)
    world.rest()
    world.cluster.rollouts.put(make_rollout())
    world.rest()
    return world


def with_an_autoscaler_that_another_writer_resumes() -> World:
    world = blue_green()
    autoscaled(world)
    release(world)
    world.rest()
    resumed_by_another_writer(world)
    wait(world, 1)
    return world


def approved(world: World) -> None:
    """`moonshift approve`, while the other writer goes on."""
    wait(world, 3)
    world.people.approve(KEY)


def with_an_autoscaler_that_is_resumed_before_the_first_pod() -> World:
    world = blue_green()
    resumed_by_another_writer(world)
    release(world)
    wait(world, 60)
    return world


def without_its_owners_values() -> World:
    world = at_half("partition")
    found = workload_of(world)
    bare = structs.replace(found.metadata, annotations={})
    world.cluster.deployments.put(structs.replace(found, metadata=bare))
    lose_kept(world)
    world.rest()
    return world


def owners_values_written(world: World) -> None:
    """`kubectl edit deployment web`: the owner's own values, without the hold."""
    own = make_deployment().spec
    world.people.edit(
        KEY,
        strategy=own.strategy,
        paused=False,
        min_ready_seconds=own.min_ready_seconds,
        progress_deadline_seconds=own.progress_deadline_seconds,
    )


def refused(action: str, reason: str, message: str) -> World:
    """The API server does not accept what the release writes to the workload."""
    world = make_world()
    world.people.forbid(action, Refusal(reason, message))
    release(world)
    world.rest()
    return world


def with_a_policy_that_refuses() -> World:
    policy = 'deployments.apps "web" is forbidden: every Deployment needs the label team'
    return refused("MoveWorkload", reasons.INVALID, policy)


def with_a_hold_that_is_undone() -> World:
    world = started(watched=False)
    text = "Deployment shop/web cannot be held: a policy of somebody else undoes each write"
    world.people.forbid("FreezeWorkload", Refusal(reasons.WORKLOAD_CONTESTED, text))
    world.people.unheard = True
    world.people.replace(KEY, workload_of(world).spec)
    world.people.unheard = False
    world.rest()
    return world


SITUATIONS: dict[str, Situation] = {
    "a Deployment that its owner paused": Situation(
        reasons.PAUSED_BY_OWNER, paused_by_its_owner, {"rollout resume": resumed}
    ),
    "a CloneSet that its owner paused": Situation(
        reasons.PAUSED_BY_OWNER, set_paused_by_its_owner, {"patch": pause_taken_back}
    ),
    "no workload": Situation(
        "",
        gone,
        {"apply -f": made_again, "edit rollout": of_workload(ANOTHER)},
        lasts=lambda world: status_of(world).phase == Phase.INITIAL,
    ),
    "a kind that is not known to be a set of pods": Situation(
        reasons.UNSUPPORTED_WORKLOAD,
        of_a_kind_that_is_not_labelled,
        {"edit rollout": of_workload(DEPLOYMENT)},
    ),
    "an id that no pod can have": Situation(
        reasons.UNSUPPORTED_WORKLOAD,
        with_an_id_that_no_pod_can_have,
        {"annotate deployment/web": id_corrected, "moonshift undo": undo},
    ),
    "a style that the kind does not support": Situation(
        reasons.UNSUPPORTED_STYLE,
        of_a_style_that_its_kind_lacks,
        {"edit rollout": rollout_edited(in_canary_style)},
    ),
    "a CloneSet that cannot have twice its pods": Situation(
        reasons.UNSUPPORTED_STYLE,
        of_a_clone_set_that_cannot_be_doubled,
        {"moonshift undo": set_undone},
    ),
    "a copy of the configuration that is not ours": Situation(
        reasons.CONFIG_NOT_OURS, with_a_copy_that_is_not_ours, {"edit rollout": not_tracked}
    ),
    "a plan without steps": Situation(
        reasons.INVALID_ROLLOUT, without_steps, {"edit rollout": rollout_edited(in_canary_style)}
    ),
    "a plan that loses its steps": Situation(
        reasons.INVALID_ROLLOUT,
        without_steps_halfway,
        {"edit rollout": rollout_edited(in_canary_style)},
    ),
    "a workload of another Rollout": Situation(
        reasons.WORKLOAD_TAKEN, held_by_another_rollout, {"edit rollout": of_workload(ANOTHER)}
    ),
    "an autoscaler that another writer resumes": Situation(
        reasons.AUTOSCALER_CONTESTED,
        with_an_autoscaler_that_another_writer_resumes,
        {"moonshift approve": approved, "moonshift undo": undo},
        lasts=lambda world: ours_of(world).step == 1 and status_of(world).phase != Phase.HEALTHY,
    ),
    "an autoscaler that is resumed before the first pod": Situation(
        reasons.AUTOSCALER_CONTESTED,
        with_an_autoscaler_that_is_resumed_before_the_first_pod,
        {"moonshift undo": undo},
    ),
    "the owner's values are lost": Situation(
        reasons.OWNERS_VALUES_LOST,
        without_its_owners_values,
        {"edit deployment/web": owners_values_written},
    ),
    "a policy that refuses the workload": Situation(
        reasons.INVALID, with_a_policy_that_refuses, {"moonshift undo": undo}
    ),
    "a policy that undoes the hold": Situation(
        reasons.WORKLOAD_CONTESTED, with_a_hold_that_is_undone, {"moonshift undo": undo}
    ),
}
