"""No end of a release leaves a Service that a route names without a ready pod, and none is called Healthy then."""

import msgspec
import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.networking import ServiceSpec
from controller.api.rollout import Phase
from controller.domain import reasons
from controller.domain.rollout.ends.last_endpoints import (
    endpoints_are_missing,
    selects_none_of_the_template,
)
from controller.domain.rollout.words.release_value import Release, as_stored
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    BLUE_GREEN,
    KEY,
    NAMESPACE,
    SETS,
    make_deployment,
    make_pod_set,
    make_rollout,
    make_service,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    set_of,
    status_of,
    template,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.scenes import approve, reason_of
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
STEPS = pytest.mark.parametrize("steps", [("25%", "50%"), ("25%", "100%"), ("100%",)], ids=str)
KINDS = pytest.mark.parametrize("which", SETS)


def labelled(version: str, label: str | None = None) -> msgspec.Raw:
    """A template whose label differs with its version."""
    return template(version, {"app": "web", "version": label or version})


def selecting(world: World, name: str = "web", **selector: str) -> None:
    """The owner applies the Service with this selector."""
    service = world.cluster.services.get(Key(NAMESPACE, name)) or make_service(name)
    bare = structs.replace(service.metadata, labels={}, annotations={})
    world.people.apply_service(
        structs.replace(service, metadata=bare, spec=ServiceSpec(selector=selector))
    )


def correcting(world: World, name: str, **selector: str) -> None:
    """A person corrects the selector of a Service, with `kubectl edit`."""
    service = world.cluster.services[Key(NAMESPACE, name)]
    found = {k: v for k, v in service.spec.selector.items() if k.endswith("-hash")}
    spec = structs.replace(service.spec, selector={**found, **selector})
    world.cluster.services.put(structs.replace(service, spec=spec))


def labelled_world(style: str, *steps: int | str) -> World:
    """Pods and Service have the label version=v1."""
    deployment = structs.replace(make_deployment(replicas=4))
    spec = structs.replace(deployment.spec, template=labelled("v1"))
    rollout = make_rollout(style=style, steps=make_steps(*(steps or ("25%", "50%"))))
    world = make_world(rollout, structs.replace(deployment, spec=spec))
    selecting(world, app="web", version="v1")
    world.rest()
    return world


def behind(world: World, name: str = "web") -> int:
    """Ready pods behind a Service."""
    service = world.cluster.services.get(Key(NAMESPACE, name))
    pods = world.cluster.selected(service) if service is not None else ()
    return sum(pod.ready_since is not None for pod in pods)


def lowest(world: World) -> list[int]:
    """The numbers of ready pods behind the stable Service from now on, while it gets requests."""
    seen: list[int] = []
    world.watchers.append(lambda: seen.append(behind(world)) if weight_of(world) != 100 else None)
    return seen


def problem_of(world: World) -> str:
    """The message of the condition Stalled."""
    found = condition(status_of(world), "Stalled")
    return found.message if found is not None and found.status == "True" else ""


def to_the_end(world: World) -> None:
    """Every step is approved."""
    for _ in range(4):
        if status_of(world).phase == Phase.HEALTHY:
            return
        approve(world)


@STYLES
@STEPS
def test_a_release_stops_before_the_stable_service_loses_its_last_pod(
    style: str, steps: tuple[str, ...]
) -> None:
    world = labelled_world(style, *steps)
    numbers = lowest(world)
    world.people.edit(KEY, template=labelled("v2"))
    world.rest()
    if world.cluster.services.get(Key(NAMESPACE, "web-canary")) is not None:
        correcting(world, "web-canary", app="web", version="v2")
    world.rest()
    to_the_end(world)
    assert status_of(world).phase == Phase.PROGRESSING
    assert reason_of(world, "Stalled") == reasons.SERVICE_SELECTS_NO_POD
    assert f"Service {NAMESPACE}/web: its selector app=web,version=v1" in problem_of(world)
    assert min(numbers) > 0
    correcting(world, "web", app="web")
    world.rest()
    to_the_end(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert reason_of(world, "Stalled") == reasons.COMPLETED or not problem_of(world)
    assert behind(world) == 4
    assert min(numbers) > 0


@STYLES
def test_a_corrected_stable_service_corrects_its_copy(style: str) -> None:
    """The advice names the Service that its owner has, and following it is enough."""
    world = labelled_world(style)
    world.people.edit(KEY, template=labelled("v2"))
    world.rest()
    assert reason_of(world, "Stalled") == reasons.SERVICE_SELECTS_NO_POD
    assert problem_of(world).startswith(f"Service {NAMESPACE}/web: its selector")
    correcting(world, "web", app="web")
    world.rest()
    assert not problem_of(world)
    to_the_end(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert behind(world) == 4


@STYLES
@pytest.mark.parametrize("back", ["undo", "third"])
def test_a_rollback_keeps_the_last_endpoint_and_names_the_selector(style: str, back: str) -> None:
    """Selector and label changed together, as a chart does it; the undo changes the label alone back."""
    world = labelled_world(style)
    selecting(world, app="web", version="v2")
    world.people.edit(KEY, template=labelled("v2"))
    world.rest()
    wait(world, 20)
    assert reason_of(world, "Stalled") == reasons.SIDE_WITHOUT_ENDPOINTS
    assert "its selector app=web,version=v2 matches none of the" in problem_of(world)
    assert "is ready" not in problem_of(world)
    numbers = lowest(world)
    returned = "v1" if back == "undo" else "v3"
    world.people.edit(KEY, template=labelled(returned))
    world.rest()
    wait(world, 1000)
    assert status_of(world).phase == Phase.PROGRESSING
    assert reason_of(world, "Stalled") == reasons.SERVICE_SELECTS_NO_POD
    assert f"Service {NAMESPACE}/web: its selector app=web,version=v2 matches none" in problem_of(
        world
    )
    assert min(numbers) > 0
    correcting(world, "web", app="web")
    world.rest()
    to_the_end(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert behind(world) == 4
    assert min(numbers) > 0


@STYLES
def test_a_service_that_had_no_endpoint_before_the_release_holds_no_end(style: str) -> None:
    world = labelled_world(style)
    selecting(world, app="web", version="v9")
    world.rest()
    world.people.edit(KEY, template=labelled("v2"))
    world.rest()
    world.people.edit(KEY, template=labelled("v1"))
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY


@STYLES
@pytest.mark.parametrize("how", ["delete", "disable"])
def test_a_rollout_that_goes_waits_ten_minutes_for_the_selector_and_says_so(
    style: str, how: str
) -> None:
    world = labelled_world(style)
    world.people.edit(KEY, template=labelled("v2"))
    world.rest()
    began = world.cluster.now
    if how == "disable":
        world.people.disable(KEY)
    else:
        world.cluster.rollouts.delete(KEY)
    wait(world, 300)
    assert reason_of(world, "Stalled") == reasons.SERVICE_SELECTS_NO_POD
    assert "the Rollout goes on all the same" in problem_of(world)
    assert behind(world) > 0
    world.rest()
    assert (world.cluster.now - began).total_seconds() >= 600
    gone = world.cluster.rollouts.get(KEY) is None
    assert gone if how == "delete" else status_of(world).phase == Phase.DISABLED


@KINDS
@pytest.mark.parametrize("steps", [("20%", "40%"), ("100%",)], ids=str)
def test_a_release_of_a_set_of_pods_keeps_the_last_endpoint(
    which: str, steps: tuple[str, ...]
) -> None:
    pod_set = make_pod_set(which)
    spec = structs.replace(pod_set.spec, template=labelled("v1"))
    world = make_set_world(
        which,
        structs.replace(pod_set, spec=spec),
        strategy=make_strategy(steps=make_steps(*steps)),
    )
    selecting(world, app="web", version="v1")
    world.rest()
    numbers = lowest(world)
    world.people.edit_set(KEY, template=labelled("v2"))
    world.rest()
    if world.cluster.services.get(Key(NAMESPACE, "web-canary")) is not None:
        correcting(world, "web-canary", app="web", version="v2")
    world.rest()
    to_the_end(world)
    assert reason_of(world, "Stalled") == reasons.SERVICE_SELECTS_NO_POD
    assert min(numbers) > 0
    correcting(world, "web", app="web")
    world.rest()
    to_the_end(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert behind(world) == len(world.cluster.pods_of(set_of(world)))
    assert min(numbers) > 0


@STYLES
def test_no_end_is_healthy_while_no_pod_behind_the_stable_service_is_ready(style: str) -> None:
    """The owner allows every pod to be missing: the end waits for the first ready one."""
    deployment = make_deployment(replicas=1, max_surge=0, max_unavailable=1)
    if style != "partition":
        deployment = make_deployment(replicas=1, max_surge=1, max_unavailable=1)
    world = make_world(make_rollout(style=style, steps=make_steps("100%", pause=0)), deployment)
    empty: list[str] = []

    def note() -> None:
        if world.cluster.rollouts[KEY].status.phase == Phase.HEALTHY and not behind(world):
            empty.append("Healthy")

    world.watchers.append(note)
    world.people.edit(KEY, template=template("v2"))
    world.rest()
    world.people.edit(KEY, template=template("v1"))
    world.rest()
    assert not empty[1:]


def looked_at(world: World) -> Release:
    seen = world.observe(KEY)
    assert seen is not None
    return as_stored(seen, world.cluster.now)


def test_a_label_that_a_webhook_adds_to_pods_keeps_the_service() -> None:
    """No new pod is ready yet, and the template alone does not have the label."""
    world = make_world()
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))
    world.people.edit(KEY, template=template("v2"))
    world.rest()
    correcting(world, "web", **{"app": "web", "istio.io/rev": "stable"})
    context = looked_at(world)
    assert selects_none_of_the_template(context) is None
    correcting(world, "web", app="web", colour="red")
    found = selects_none_of_the_template(looked_at(world))
    assert found is not None
    assert found.reason == reasons.SERVICE_SELECTS_NO_POD


def test_an_end_waits_while_no_pod_behind_the_service_is_ready() -> None:
    world = make_world()
    world.people.edit(KEY, template=template("v2"))
    world.rest()
    assert endpoints_are_missing(looked_at(world)) is None
    correcting(world, "web", app="web", colour="red")
    world.tick()
    stop = endpoints_are_missing(looked_at(world))
    assert stop is not None
    assert stop.problem is not None


def test_a_service_of_pods_that_their_owner_keeps_loses_no_endpoint() -> None:
    """The owner's partition keeps old pods, and the Service selects a label that the new template changed."""
    limits: dict[str, object] = {"type": "RollingUpdate", "rollingUpdate": {"partition": 4}}
    pod_set = make_pod_set("StatefulSet", strategy=limits)
    spec = structs.replace(pod_set.spec, template=labelled("v1"))
    world = make_set_world("StatefulSet", structs.replace(pod_set, spec=spec))
    selecting(world, app="web", version="v1")
    world.rest()
    world.people.edit_set(KEY, template=labelled("v2"))
    world.rest()
    assert selects_none_of_the_template(looked_at(world)) is None
