"""Each command that `why` offers is executed in its own situation, and ends it.

The situations are releases in the simulated cluster; the views and the offered commands are the program's own. A
command that only reads is not executed here. The list of reasons without a situation is exact: a new reason needs one.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec
import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.networking import ServiceSpec
from controller.api.rollout import RolloutStatus
from controller.cli.remedies.remedy_table import TABLE, remedies
from controller.cli.render.words import hint
from controller.cli.views.look import look_at
from controller.domain import reasons
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.status import condition, with_moonshift_status
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    make_deployment,
    make_pod_set,
    make_rollout,
    make_service,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    release,
    release_set,
    status_of,
    template,
    wait,
)
from tests.unit.domain.rollout.moving.test_from_zero import at_half
from tests.unit.domain.rollout.scenes import approve
from tests.unit.domain.rollout.trouble.test_stable_gone import gone_on
from tests.unit.worlds import World

LOOKS = ("get", "describe", "logs", "auth", "api-resources", "moonshift describe")
Act = Callable[[World], None]
PROGRAM = "kubectl moonshift"


class Situation(NamedTuple):
    """A release that does not go on: the reason, the way into it, and what the commands do that it offers."""

    reason: str
    begin: Callable[[], World]
    acts: Mapping[str, Act]


# --- the commands ---------------------------------------------------------------------------------


def undo(world: World) -> None:
    """`moonshift undo`: the stable template, from the object or the status that keeps it."""
    ours = moonshift_status(status_of(world))
    kept = [
        rs.spec.template for rs in world.cluster.replica_sets if rs.revision == ours.stable_revision
    ]
    text = ours.kept_template.encode()
    world.people.edit(KEY, template=kept[-1] if kept else msgspec.Raw(text))


def promote(world: World) -> None:
    """`moonshift promote`."""
    for _ in range(3):
        approve(world)


def the_template_so_far_applied_and_promoted(world: World) -> None:
    """The release goes on, and `why` offers its next command."""
    release(world, "v2")
    wait(world, 30)
    promote(world)


def retry(world: World) -> None:
    """`moonshift retry`: the controller forgets that the template was given up."""
    rollout = world.cluster.rollouts[KEY]
    status: RolloutStatus = with_moonshift_status(rollout.status, failed_template="")
    world.cluster.rollouts.put(structs.replace(rollout, status=status))


def with_selector(**selector: str) -> Act:
    """`kubectl edit service web`: the owner's own part of the selector."""

    def edit(world: World) -> None:
        service = world.cluster.services[KEY]
        pin = {k: v for k, v in service.spec.selector.items() if k.endswith("-hash")}
        spec = structs.replace(service.spec, selector={**pin, **selector})
        world.cluster.services.put(structs.replace(service, spec=spec))

    return edit


def service_applied(world: World) -> None:
    """`kubectl apply -f FILE`: the manifest of the Service."""
    world.people.apply_service(make_service("web"))


def route_applied(world: World) -> None:
    """`kubectl apply -f FILE`: the manifest of the gateway object."""
    world.put_route(NAMESPACE, "VirtualService", "web")
    world.passes.wake_all()


def resumed(world: World) -> None:
    """`kubectl rollout resume`."""
    world.people.edit(KEY, paused=False)


def pause_taken_back(world: World) -> None:
    """`kubectl patch`: the update strategy without its pause."""
    found = world.cluster.pod_sets[KEY].spec.update_strategy
    strategy = {**msgspec.json.decode(found), "paused": False}
    world.people.edit_set(KEY, update_strategy=msgspec.Raw(msgspec.json.encode(strategy)))


# --- the situations -------------------------------------------------------------------------------


def labelled(version: str) -> msgspec.Raw:
    return template(version, {"app": "web", "version": version})


def at_rest(style: str = "canary") -> World:
    """Pods and Service have the label version=v1."""
    made = make_deployment(replicas=4)
    spec = structs.replace(made.spec, template=labelled("v1"))
    world = make_world(make_rollout(style=style), structs.replace(made, spec=spec))
    with_selector(app="web", version="v1")(world)
    world.rest()
    return world


def with_a_service_of_the_old_label() -> World:
    world = at_rest()
    world.people.edit(KEY, template=labelled("v2"))
    world.rest()
    return world


def at_the_end_with_a_service_of_the_old_label() -> World:
    world = with_a_service_of_the_old_label()
    canary = Key(NAMESPACE, "web-canary")
    service = world.cluster.services[canary]
    spec = structs.replace(service.spec, selector={**service.spec.selector, "version": "v2"})
    world.cluster.services.put(structs.replace(service, spec=spec))
    world.rest()
    promote(world)
    return world


def with_a_service_of_the_new_label() -> World:
    world = at_rest()
    with_selector(app="web", version="v2")(world)
    world.people.edit(KEY, template=labelled("v2"))
    wait(world, 30)
    return world


def rolled_back_with_a_service_of_the_new_label() -> World:
    world = with_a_service_of_the_new_label()
    undo(world)
    world.rest()
    return world


def without_its_service() -> World:
    world = make_world()
    world.cluster.services.remove(KEY)
    release(world)
    world.rest()
    return world


def without_its_service_halfway() -> World:
    world = make_world()
    release(world)
    world.rest()
    world.cluster.services.remove(KEY)
    wait(world, 30)
    return world


def without_its_route() -> World:
    world = make_world()
    world.remove_route(NAMESPACE, "VirtualService", "web")
    world.passes.wake_all()
    release(world)
    world.rest()
    return world


def with_a_service_without_selector() -> World:
    world = make_world()
    service = world.cluster.services[KEY]
    world.cluster.services.put(structs.replace(service, spec=ServiceSpec()))
    release(world)
    world.rest()
    return world


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


def with_pods_that_fail(rule: str = "") -> World:
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%")),
        progress_deadline_seconds=30,
        on_deadline_exceeded=rule,
    )
    world = make_world(make_rollout(strategy=strategy))
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))
    release(world)
    wait(world, 120)
    return world


def given_up_and_applied_again() -> World:
    world = with_pods_that_fail("Rollback")
    world.rest()
    world.people.heal()
    release(world)
    world.rest()
    return world


def gone_on_by_itself() -> World:
    """The Deployment went to the new version while nobody answered, and no stable pod is left."""
    return gone_on(at_half("partition"))


def beside_lost_stable_pods() -> World:
    world = make_world(make_rollout(style="canary"))
    release(world)
    world.rest()
    stable = moonshift_status(status_of(world)).stable_revision
    world.people.fail_pods(frozenset({stable}))
    wait(world, 30)
    return world


def beside_lost_stable_pods_and_another_template() -> World:
    world = beside_lost_stable_pods()
    release(world, "v3")
    wait(world, 30)
    return world


SITUATIONS: dict[str, Situation] = {
    "the Service selects the old label": Situation(
        reasons.SERVICE_SELECTS_NO_POD,
        with_a_service_of_the_old_label,
        {"edit service web": with_selector(app="web"), "moonshift undo": undo},
    ),
    "the end would empty the Service": Situation(
        reasons.SERVICE_SELECTS_NO_POD,
        at_the_end_with_a_service_of_the_old_label,
        {"edit service web": with_selector(app="web"), "moonshift undo": undo},
    ),
    "a rollback would empty the Service": Situation(
        reasons.SERVICE_SELECTS_NO_POD,
        rolled_back_with_a_service_of_the_new_label,
        {"edit service web": with_selector(app="web")},
    ),
    "the Service selects the new label": Situation(
        reasons.SIDE_WITHOUT_ENDPOINTS,
        with_a_service_of_the_new_label,
        {"edit service web": with_selector(app="web")},
    ),
    "no Service": Situation(
        reasons.SERVICE_NOT_FOUND,
        without_its_service,
        {"apply -f": service_applied, "edit rollout": service_applied},
    ),
    "no gateway object": Situation(
        reasons.GATEWAY_OBJECT_NOT_FOUND,
        without_its_route,
        {"apply -f": route_applied, "edit rollout": route_applied},
    ),
    "a Service without a selector": Situation(
        reasons.SERVICE_WITHOUT_SELECTOR,
        with_a_service_without_selector,
        {"edit service web": with_selector(app="web"), "edit rollout": service_applied},
    ),
    "a Deployment that its owner paused": Situation(
        reasons.PAUSED_BY_OWNER, paused_by_its_owner, {"rollout resume": resumed}
    ),
    "a CloneSet that its owner paused": Situation(
        reasons.PAUSED_BY_OWNER, set_paused_by_its_owner, {"patch": pause_taken_back}
    ),
    "a step that takes too long": Situation(
        reasons.DEADLINE_EXCEEDED, with_pods_that_fail, {"moonshift undo": undo}
    ),
    "a version that was given up": Situation(
        reasons.REVISION_FAILED, given_up_and_applied_again, {"moonshift retry": retry}
    ),
    "no stable pod is left": Situation(
        reasons.STABLE_REVISION_GONE,
        gone_on_by_itself,
        {"moonshift undo": undo, "moonshift promote": promote},
    ),
    "no stable pod is ready": Situation(
        reasons.SIDE_WITHOUT_ENDPOINTS,
        beside_lost_stable_pods,
        {"moonshift approve": promote},
    ),
    "another template while no stable pod is ready": Situation(
        reasons.SIDE_WITHOUT_ENDPOINTS,
        beside_lost_stable_pods_and_another_template,
        {"apply -f": the_template_so_far_applied_and_promoted},
    ),
}


WITHOUT_A_SITUATION = {
    # played on a real control plane, with the commands of docs/trouble.md
    *("AnalysisFailed", "AnalysisInconclusive", "AnalysisTemplateNotFound", "Forbidden", "Invalid"),
    *("KindNotServed", "RouteHeld", "ScriptAnswerRefused", "ScriptFailed", "ScriptNotFound"),
    *("ServiceNotOurs", "TrafficRoutingNotFound", "WebhookFailed", "WorkerUnavailable"),
    # about objects and scripts of others: the commands show them, and a person decides
    *("AmbiguousChange", "ChangeNotKept", "ClusterScopedKind", "ConfigCopyNotOurs"),
    *("GatewayObjectInUse", "GatewayObjectRejected", "GatewayObjectTooLarge"),
    *(
        "GatewayObjectUnreadable",
        "NameTooLong",
        "NothingToDivide",
        "ObjectIsGoing",
        "ObjectNotOurs",
    ),
    *("OriginalCorrupt", "ScriptNotDeterministic", "ScriptOrder", "ServiceAccountForbidden"),
    *("ServiceInUse", "ServiceUnreadable", "SharedServiceMixesRevisions", "SiblingNamedTwice"),
    *("AnalysisWithoutData", "AutoscalerContested", "InvalidAnalysis", "InvalidRollout"),
    *("InvalidTrafficRouting", "OwnersValuesLost", "RevertRefused", "TemplateGone"),
    *("TrafficUnreadable", "UnsupportedStep", "UnsupportedStyle", "UnsupportedWorkload"),
    *("WorkloadContested", "WorkloadNotFound", "WorkloadTaken"),
}


def test_every_reason_has_a_situation_or_is_known_to_have_none() -> None:
    here = {situation.reason for situation in SITUATIONS.values()}
    assert here | WITHOUT_A_SITUATION == set(TABLE)
    assert not here & WITHOUT_A_SITUATION


def offered(world: World) -> list[str]:
    """The commands that `why` prints, without the namespace."""
    seen = world.observe(KEY)
    assert seen is not None
    found = remedies(look_at(seen, world.cluster.now, {}), PROGRAM)
    return [remedy.command.removeprefix("kubectl ") for remedy in found]


def reason_of(world: World) -> str:
    found = condition(status_of(world), "Stalled")
    return found.reason if found is not None and found.status == "True" else ""


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_command_that_why_offers_ends_its_situation(name: str) -> None:
    situation = SITUATIONS[name]
    world = situation.begin()
    assert reason_of(world) == situation.reason
    commands = [words for words in offered(world) if not words.startswith(LOOKS)]
    assert commands
    for command in commands:
        act = next(
            (act for words, act in situation.acts.items() if command.startswith(words)), None
        )
        assert act is not None, f"{name}: nothing is known of {command}"
        again = situation.begin()
        act(again)
        wait(again, 120)
        again.rest()
        assert reason_of(again) != situation.reason, f"{name}: {command} does not help"


def test_no_line_asks_for_an_approval_while_another_template_waits() -> None:
    """Nothing would come of it; `get` prints this command behind its first line."""

    def shown(world: World) -> str:
        seen = world.observe(KEY)
        assert seen is not None
        return hint(look_at(seen, world.cluster.now, {}).summary, PROGRAM)

    assert "approve" in shown(beside_lost_stable_pods())
    assert shown(beside_lost_stable_pods_and_another_template()) == ""
