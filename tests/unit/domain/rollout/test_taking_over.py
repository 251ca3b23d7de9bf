"""A release that the original controller has begun continues here, and no mark of the original stays."""

from typing import Any

import msgspec
import pytest

from controller.api import names
from controller.api.jsontree import JsonObject, changed, child
from controller.api.meta import Key
from controller.api.rollout import CanaryStrategy, GatewayRef, Phase, StepState, TrafficRoutingRef
from controller.domain import reasons
from controller.domain.availability import Forbidden
from controller.domain.rollout.words.status import condition
from controller.kube.resources import (
    BATCH_RELEASES,
    DEPLOYMENTS,
    HPAS,
    REPLICA_SETS,
    ROLLOUTS,
    SERVICES,
    Resource,
    known_workload,
)
from controller.simulation.state import resource_of_kind
from tests import originals
from tests.unit.builders import (
    GIVEN_BACK,
    KEY,
    NAMESPACE,
    SETS,
    inner_of,
    make_rollout,
    make_set_world,
    make_steps,
    make_world,
    ours_of,
    release,
    release_set,
    revision_of,
    sizes_of,
    status_of,
    strategy_of,
    template,
    versions_of,
    weight_of,
    workload_of,
)
from tests.unit.domain.rollout.moving.test_from_zero import at_half, finish
from tests.unit.domain.rollout.scenes import approve, pin_of
from tests.unit.domain.rollout.styles.test_blue_green import PLAN, autoscaled, blue_green
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["partition", "canary", "blueGreen"])
EVERY = pytest.mark.parametrize("which", [name for name in SETS if "labelled" not in name])
OF_THE_ORIGINAL = {
    names.CONTROL_INFO,
    names.ORIGINALS_STRATEGY,
    names.ORIGINALS_CONTROL,
    names.ORIGINALS_DAEMON_STRATEGY,
    names.ORIGINALS_DAEMON_REVISION,
    names.ORIGINALS_DAEMON_CONTROL,
}


def place(resource: Resource) -> tuple[str, str]:
    """How the in-memory API server names a kind."""
    return resource.group, resource.plural


def left_by_the_original(world: World, style: str, which: str = "Deployment") -> None:
    """The world during a release, as the original would have left it; nobody looks meanwhile."""
    storage = world.cluster.server.storage
    ref = SETS.get(which)
    resource = known_workload(ref.api_version, ref.kind) if ref is not None else DEPLOYMENTS
    assert resource is not None
    rollout = storage.get(place(ROLLOUTS), KEY)
    assert rollout is not None
    storage.put(place(BATCH_RELEASES), KEY, originals.batch_release(rollout))
    for key, found in list(storage.all(place(DEPLOYMENTS))):
        if key != KEY:
            storage.put(place(DEPLOYMENTS), key, originals.canary_deployment(found, KEY.name))
    for key, found in list(storage.all(place(HPAS))):
        storage.put(place(HPAS), key, originals.autoscaler(found))
    for key, found in list(storage.all(place(SERVICES))):
        made = key.name.endswith("-canary")
        storage.put(
            place(SERVICES),
            key,
            originals.canary_service(found, rollout) if made else originals.without_ours(found),
        )
    route = resource_of_kind("networking.istio.io/v1", "VirtualService")
    for key, found in list(storage.all(place(route))):
        storage.put(place(route), key, originals.without_ours(found))
    workload = storage.get(place(resource), KEY)
    assert workload is not None
    storage.put(place(resource), KEY, originals.workload(workload, style))
    storage.put(place(ROLLOUTS), KEY, originals.status(rollout))


def marks_of_the_original(obj: JsonObject) -> set[str]:
    """The marks on an object that only the original controller writes."""
    meta = child(obj, "metadata")
    found = {*child(meta, "annotations"), *child(meta, "labels")}
    return found & OF_THE_ORIGINAL


def stored(world: World, resource: Resource, key: Key = KEY) -> JsonObject:
    """A whole object."""
    found = world.cluster.server.storage.get(place(resource), key)
    assert found is not None
    return found


def nothing_of_the_original_is_left(world: World) -> None:
    """No BatchRelease, and no mark on any object."""
    assert world.cluster.server.storage.get(place(BATCH_RELEASES), KEY) is None
    for _, key, found in world.cluster.server.storage.everything():
        assert not marks_of_the_original(found), (key, found["metadata"])


@STYLES
def test_a_release_goes_on_at_its_step_with_its_pods_and_its_traffic(style: str) -> None:
    world = at_half(style)
    pods, weight = sizes_of(world), weight_of(world)
    left_by_the_original(world, style)
    world.rest()
    assert sizes_of(world) == pods
    assert weight_of(world) == weight
    assert (ours_of(world).step, ours_of(world).state) == (2, StepState.STEP_PAUSED)
    nothing_of_the_original_is_left(world)
    finish(world)


@STYLES
def test_a_release_that_is_undone_is_as_before(style: str) -> None:
    world = at_half(style)
    left_by_the_original(world, style)
    world.rest()
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": workload_of(world).spec.replicas}
    assert weight_of(world) is None
    assert status_of(world).phase == Phase.HEALTHY
    assert workload_of(world).spec.strategy.type == "RollingUpdate"
    assert workload_of(world).spec.paused is False


@EVERY
def test_a_set_of_pods_goes_on_and_has_its_owners_strategy_in_the_end(which: str) -> None:
    world = make_set_world(which)
    release_set(world)
    world.rest()
    pods = versions_of(world)
    left_by_the_original(world, "partition", which)
    world.rest()
    assert versions_of(world) == pods
    assert (ours_of(world).step, ours_of(world).state) == (1, StepState.STEP_PAUSED)
    nothing_of_the_original_is_left(world)
    finish(world)
    assert versions_of(world) == {"v2": 5}
    assert owners_part(strategy_of(world)) == owners_part(GIVEN_BACK[which])


@EVERY
def test_a_set_of_pods_that_goes_back_has_only_stable_pods(which: str) -> None:
    world = make_set_world(which)
    release_set(world)
    world.rest()
    left_by_the_original(world, "partition", which)
    world.rest()
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert owners_part(strategy_of(world)) == owners_part(GIVEN_BACK[which])


def owners_part(strategy: JsonObject) -> JsonObject:
    """A strategy without fields that have their default."""
    rolling: dict[str, Any] = {**child(strategy, "rollingUpdate")}
    if rolling.get("partition") == 0:
        del rolling["partition"]
    kept = {
        name: value for name, value in strategy.items() if name not in ("rollingUpdate", "type")
    }
    return {**kept, "rollingUpdate": rolling} if rolling else kept


def test_a_step_that_was_approved_and_not_followed_goes_on() -> None:
    world = at_half("partition")
    left_by_the_original(world, "partition")
    body = stored(world, ROLLOUTS)
    body = changed(body, ("status", "canaryStatus", "currentStepIndex"), 1)
    body = changed(body, ("status", "canaryStatus", "currentStepState"), "StepReady")
    world.cluster.server.storage.put(place(ROLLOUTS), KEY, body)
    world.rest()
    assert (ours_of(world).step, ours_of(world).state) == (2, StepState.STEP_PAUSED)


def test_a_template_that_came_meanwhile_begins_at_step_1() -> None:
    world = at_half("partition")
    left_by_the_original(world, "partition")
    tree = changed(
        stored(world, DEPLOYMENTS), ("spec", "template"), msgspec.json.decode(template("v3"))
    )
    world.cluster.server.storage.put(place(DEPLOYMENTS), KEY, tree)
    world.rest()
    assert sizes_of(world) == {"v1": 8, "v3": 2}
    assert (ours_of(world).step, weight_of(world)) == (1, 20)


def test_an_edited_plan_never_gives_more_than_there_is() -> None:
    world = at_half("partition")
    left_by_the_original(world, "partition")
    world.people.replan(KEY, make_steps("50%", "50%"))
    world.rest()
    assert sizes_of(world) == {"v1": 5, "v2": 5}
    assert ours_of(world).state == StepState.STEP_PAUSED


def test_autoscalers_name_their_workload_again_and_scale_when_it_is_over() -> None:
    world = blue_green(*PLAN)
    autoscaled(world, '{"scaleDown":{"selectPolicy":"Min"}}')
    release(world)
    world.rest()
    left_by_the_original(world, "blueGreen")
    spec = child(stored(world, HPAS), "spec")
    kept = changed(
        stored(world, HPAS), ("spec", "behavior"), {"scaleDown": {"selectPolicy": "Min"}}
    )
    world.cluster.server.storage.put(place(HPAS), KEY, kept)
    assert child(spec, "scaleTargetRef")["name"] == "web-DisableByRollout"
    world.rest()
    held = child(stored(world, HPAS), "spec")
    assert child(held, "scaleTargetRef")["name"] == "web"
    assert child(held, "behavior", "scaleDown")["selectPolicy"] == "Disabled"
    for _ in range(len(PLAN)):
        approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert child(stored(world, HPAS), "spec")["behavior"] == {"scaleDown": {"selectPolicy": "Min"}}


@pytest.mark.parametrize("how", ["deleted", "disabled"])
@STYLES
def test_a_rollout_that_is_ended_leaves_its_workload_going_on(style: str, how: str) -> None:
    world = at_half(style)
    left_by_the_original(world, style)
    if how == "deleted":
        world.cluster.rollouts.delete(KEY)
    else:
        world.people.disable(KEY)
    world.rest()
    assert sizes_of(world) == {"v2": 10}
    assert weight_of(world) is None
    assert workload_of(world).spec.paused is False
    assert pin_of(world) == ""
    nothing_of_the_original_is_left(world)


def test_an_admitted_change_that_was_not_begun_begins_here() -> None:
    world = at_half("partition")
    release(world, "v1")
    world.rest()
    workload = stored(world, DEPLOYMENTS)
    mark = '{"rolloutName":"web"}'
    workload = changed(workload, ("metadata", "annotations", names.IN_PROGRESSING), mark)
    workload = changed(workload, ("spec", "paused"), True)
    workload = changed(workload, ("spec", "template"), msgspec.json.decode(template("v2")))
    world.cluster.server.storage.put(place(DEPLOYMENTS), KEY, workload)
    world.rest()
    assert sizes_of(world) == {"v1": 8, "v2": 2}
    finish(world)
    assert sizes_of(world) == {"v2": 10}
    assert workload_of(world).spec.paused is False


def test_a_workload_that_went_leaves_neither_route_nor_pin() -> None:
    world = at_half("partition")
    left_by_the_original(world, "partition")
    world.cluster.server.storage.remove(place(DEPLOYMENTS), KEY)
    world.rest()
    assert weight_of(world) is None
    assert pin_of(world) == ""
    assert status_of(world).phase == Phase.INITIAL


def test_the_end_of_the_original_is_ended_here() -> None:
    world = at_half("partition")
    left_by_the_original(world, "partition")
    body: Any = stored(world, ROLLOUTS)
    body = changed(body, ("status", "canaryStatus", "currentStepState"), "Completed")
    for one in body["status"]["conditions"]:
        if one["type"] == "Progressing":
            one["reason"] = reasons.FINALISING
    world.cluster.server.storage.put(place(ROLLOUTS), KEY, body)
    world.rest()
    assert sizes_of(world) == {"v2": 10}
    assert weight_of(world) is None
    progressing = condition(status_of(world), "Progressing")
    assert progressing is not None
    assert progressing.reason == reasons.COMPLETED


def test_an_extra_deployment_of_another_template_makes_way() -> None:
    world = at_half("canary")
    left_by_the_original(world, "canary")
    tree = changed(
        stored(world, DEPLOYMENTS), ("spec", "template"), msgspec.json.decode(template("v3"))
    )
    world.cluster.server.storage.put(place(DEPLOYMENTS), KEY, tree)
    world.rest()
    assert sizes_of(world) == {"v1": 10, "+v3": 2}
    assert (ours_of(world).step, weight_of(world)) == (1, 20)


def test_an_http_route_that_the_original_leads_is_restored_without_its_canary() -> None:
    routing = TrafficRoutingRef(
        service="web", grace_period_seconds=3, gateway=GatewayRef(http_route_name="web")
    )
    steps = make_steps("20%", "50%")
    strategy = CanaryStrategy(
        steps=steps, traffic_routings=(routing,), enable_extra_workload_for_canary=True
    )
    world = make_world(make_rollout(strategy=strategy))
    whole = {"spec": {"rules": [{"backendRefs": [{"name": "web", "weight": 1}]}]}}
    world.put_route(NAMESPACE, "HTTPRoute", "web", msgspec.json.encode(whole))
    release(world)
    world.rest()
    left_by_the_original(world, "canary")
    route = resource_of_kind("gateway.networking.k8s.io/v1", "HTTPRoute")
    led = [{"name": "web", "weight": 80}, {"name": "web-canary", "weight": 20}]
    found = originals.without_ours(stored(world, route))
    found = changed(found, ("metadata", "annotations", names.ORIGINAL_SPEC), None)
    found = changed(found, ("spec",), {"rules": [{"backendRefs": led}]})
    world.cluster.server.storage.put(place(route), KEY, found)
    world.rest()
    release(world, "v1")
    world.rest()
    given_back = stored(world, route)
    assert given_back["spec"] == whole["spec"]
    assert not child(given_back, "metadata", "annotations")


def test_a_stale_annotation_of_the_original_begins_nothing() -> None:
    world = make_world()
    info = originals.control_info("web")
    tree = changed(
        stored(world, DEPLOYMENTS), ("metadata", "annotations", names.CONTROL_INFO), info
    )
    world.cluster.server.storage.put(place(DEPLOYMENTS), KEY, tree)
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert names.ORIGINAL_STRATEGY not in workload_of(world).metadata.annotations


def test_a_status_that_says_that_the_release_is_over_is_no_release() -> None:
    world = make_world()
    body: Any = changed(stored(world, ROLLOUTS), ("status", "phase"), "Progressing")
    body = changed(body, ("status", "moonshift"), None)
    over = {"type": "Progressing", "status": "False", "reason": "Completed", "message": ""}
    body = changed(body, ("status", "conditions"), [over])
    world.cluster.server.storage.put(place(ROLLOUTS), KEY, body)
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert sizes_of(world) == {"v1": 10}


def test_autoscalers_that_cannot_be_read_stop_the_taking_over() -> None:
    world = at_half("blueGreen")
    left_by_the_original(world, "blueGreen")
    why = Forbidden("autoscalers may not be listed")
    world.passes.kinds.unreadable["autoscaling/v2", "HorizontalPodAutoscaler"] = why
    world.rest()
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert "autoscalers" in stalled.message
    assert names.CONTROL_INFO in workload_of(world).metadata.annotations


@pytest.mark.parametrize("which", ["StatefulSet", "Advanced DaemonSet"])
@pytest.mark.parametrize("noted", ["", "a revision that is gone"])
def test_a_stable_revision_that_the_original_did_not_note_is_found(which: str, noted: str) -> None:
    world = make_set_world(which)
    release_set(world)
    world.rest()
    pods = versions_of(world)
    left_by_the_original(world, "partition", which)
    body = changed(stored(world, ROLLOUTS), ("status", "canaryStatus", "stableRevision"), noted)
    world.cluster.server.storage.put(place(ROLLOUTS), KEY, body)
    world.rest()
    assert versions_of(world) == pods
    assert inner_of(world).stable_revision.endswith(revision_of(world, "v1"))


@pytest.mark.parametrize("actions", range(5))
@STYLES
def test_a_crash_in_the_middle_changes_nothing_of_the_outcome(style: str, actions: int) -> None:
    world = at_half(style)
    pods, weight = sizes_of(world), weight_of(world)
    left_by_the_original(world, style)
    world.pass_over(KEY, crash_after=actions)
    world.passes.wake_all()  # the process that comes after it looks at everything
    world.rest()
    assert (sizes_of(world), weight_of(world)) == (pods, weight)
    assert (ours_of(world).step, ours_of(world).state) == (2, StepState.STEP_PAUSED)
    nothing_of_the_original_is_left(world)


@STYLES
def test_no_pod_and_no_share_beyond_the_step_at_any_instant(style: str) -> None:
    world = at_half(style)
    new = {name: size for name, size in sizes_of(world).items() if "v2" in name}
    seen: list[tuple[int, float]] = []
    left_by_the_original(world, style)
    world.watchers.append(
        lambda: seen.append((sum(sizes_of(world).get(n, 0) for n in new), weight_of(world) or 0))
    )
    world.rest()
    assert seen
    assert max(pods for pods, _ in seen) <= sum(new.values())
    assert max(weight for _, weight in seen) <= 50


def test_an_unfinished_move_of_the_original_is_finished_within_the_step() -> None:
    world = at_half("partition")
    left_by_the_original(world, "partition")
    # Its controller had added the step's pods and not yet removed as many old ones.
    for key, found in list(world.cluster.server.storage.all(place(REPLICA_SETS))):
        if child(found, "metadata", "labels")["pod-template-hash"] == revision_of(world, "v1"):
            grown = changed(found, ("spec", "replicas"), 7)
            world.cluster.server.storage.put(place(REPLICA_SETS), key, grown)
    world.rest()
    assert sizes_of(world) == {"v1": 5, "v2": 5}
    finish(world)
    assert sizes_of(world) == {"v2": 10}
