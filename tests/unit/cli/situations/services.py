"""Situations of Services: they are missing, belong to others, or select no pod."""

import msgspec
from msgspec import structs

from controller.api.meta import Key
from controller.api.networking import ServiceSpec
from controller.api.rollout import RolloutSpec
from controller.domain import reasons
from controller.domain.decision import Refusal
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    make_deployment,
    make_rollout,
    make_routing,
    make_strategy,
    make_world,
    release,
    template,
    wait,
)
from tests.unit.cli.situations.situation import (
    Act,
    Situation,
    promote,
    rollout_edited,
    service_applied,
    undo,
    with_selector,
)
from tests.unit.domain.rollout.routes.test_other_workloads import two_subsets, with_another_workload
from tests.unit.domain.rollout.routes.test_routing import shared_world, virtual_service
from tests.unit.domain.rollout.test_obstacles import another_rollout, pin_for_another
from tests.unit.worlds import World

LONG = "w" * 60
"""A name that leaves no room for the suffix of the canary Service."""


def labelled(version: str) -> msgspec.Raw:
    """A template whose pods have this label."""
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


def with_a_service_without_selector() -> World:
    world = make_world()
    service = world.cluster.services[KEY]
    world.cluster.services.put(structs.replace(service, spec=ServiceSpec()))
    release(world)
    world.rest()
    return world


def with_a_service_of_somebody_else() -> World:
    world = make_world(services=("web", "web-canary"))
    release(world)
    world.rest()
    return world


def with_a_service_in_use() -> World:
    world = make_world(services=("web", "web-canary", "own"))
    pin_for_another(world, another_rollout(world))
    release(world)
    world.rest()
    return world


def with_a_long_name() -> World:
    strategy = structs.replace(make_strategy(), traffic_routings=(make_routing(LONG),))
    world = make_world(make_rollout(strategy=strategy), services=("web", LONG))
    release(world)
    world.rest()
    return world


def with_revisions_that_are_mixed() -> World:
    world = shared_world("canary", subset="")
    release(world)
    world.rest()
    return world


def with_subsets_of_another_workload() -> World:
    world = make_world(services=("web", "own"), raw=two_subsets())
    with_another_workload(world)
    release(world)
    world.rest()
    return world


def with_an_unreadable_service() -> World:
    world = make_world(services=("web", "own"))
    text = "Service shop/web: the number 1e999 is too large"
    world.people.forbid("EnsureCanaryService", Refusal(reasons.SERVICE_UNREADABLE, text))
    release(world)
    world.rest()
    return world


def of_service(name: str) -> Act:
    """`kubectl edit rollout web`: it names another Service."""

    def edited(spec: RolloutSpec) -> RolloutSpec:
        assert spec.strategy.canary is not None
        routings = (make_routing(name),)
        canary = structs.replace(spec.strategy.canary, traffic_routings=routings)
        return structs.replace(spec, strategy=structs.replace(spec.strategy, canary=canary))

    return rollout_edited(edited)


def with_a_service_for_each_revision(spec: RolloutSpec) -> RolloutSpec:
    """Without `disableGenerateCanaryService`."""
    canary = spec.strategy.canary
    assert canary is not None
    plan = structs.replace(
        canary,
        disable_generate_canary_service=False,
        traffic_routings=(make_routing("web"),),
    )
    return structs.replace(spec, strategy=structs.replace(spec.strategy, canary=plan))


def subset_named(world: World) -> None:
    """`kubectl edit virtualservice web`: requests go to the subset of stable pods."""
    world.put_route(NAMESPACE, "VirtualService", "web", virtual_service("stable"))
    world.passes.wake_all()


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
    "a Service without a selector": Situation(
        reasons.SERVICE_WITHOUT_SELECTOR,
        with_a_service_without_selector,
        {"edit service web": with_selector(app="web"), "edit rollout": service_applied},
    ),
    "a canary Service that somebody else made": Situation(
        reasons.SERVICE_NOT_OURS, with_a_service_of_somebody_else, {"moonshift undo": undo}
    ),
    "a Service that another release uses": Situation(
        reasons.SERVICE_IN_USE, with_a_service_in_use, {"edit rollout": of_service("own")}
    ),
    "a Service with a long name": Situation(
        reasons.NAME_TOO_LONG,
        with_a_long_name,
        {"edit rollout": of_service("web"), "moonshift undo": undo},
    ),
    "a Service that cannot be read": Situation(
        reasons.SERVICE_UNREADABLE,
        with_an_unreadable_service,
        {"edit rollout": of_service("own"), "moonshift undo": undo},
    ),
    "a Service with the subsets of two workloads": Situation(
        reasons.OTHER_PODS_BEHIND_SERVICE,
        with_subsets_of_another_workload,
        {"edit rollout": of_service("own"), "moonshift undo": undo},
    ),
    "a shared Service whose revisions are mixed": Situation(
        reasons.SHARED_SERVICE_MIXES_REVISIONS,
        with_revisions_that_are_mixed,
        {
            "edit virtualservice web": subset_named,
            "edit rollout": rollout_edited(with_a_service_for_each_revision),
            "moonshift undo": undo,
        },
    ),
}
