"""Two Rollouts that share one TrafficRouting, under everything that can come in between, in any order."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import Phase, Rollout, RolloutSpec
from controller.api.trafficrouting import TRAFFIC_ROUTING_FINALIZER, TrafficRoutingStrategy
from controller.api.workloads import Pod
from controller.domain.pods.deployment import owners_limits
from controller.domain.rollout.phases import decide
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import Release, as_stored
from controller.simulation.cluster import RETRY
from tests.unit.builders import NAMESPACE, make_service, make_steps, template, wait
from tests.unit.domain.trafficrouting.scenes import (
    GRAY,
    LANE,
    TWENTY,
    A,
    B,
    change,
    lane,
    led,
    member,
    routing_of,
    shared_world,
)
from tests.unit.simulation.releases import TURNS
from tests.unit.simulation.rounds import noted, place_of, run

GRACE = timedelta(seconds=2)
MEMBERS = st.sampled_from((A, B))
VERSIONS = st.sampled_from(("v1", "v2", "v3"))
STRATEGIES = (GRAY, TWENTY, TrafficRoutingStrategy(weight=80))
PLANS = (
    make_steps("20%", "80%", "90%", traffic=False),
    make_steps("50%", "100%", "100%", traffic=False),
    make_steps(1, "60%", traffic=False),
)


class Lane(RuleBasedStateMachine):
    """Two Deployments, their Rollouts, and the TrafficRouting over their Services."""

    @initialize(
        style=st.sampled_from(("partition", "canary")),
        plan=st.sampled_from(PLANS),
        strategy=st.sampled_from(STRATEGIES),
        replicas=st.sampled_from((1, 3, 10)),
    )
    def begin(self, style: str, plan: Any, strategy: TrafficRoutingStrategy, replicas: int) -> None:
        self.style, self.plan = style, plan
        self.routing = lane("a", "b", strategy=strategy)
        self.world = shared_world(
            "a", "b", routing=self.routing, style=style, replicas=replicas, steps=plan
        )
        self.excused = False
        """Pods failed or went since the world was last whole: their number proves nothing."""
        self.released: set[tuple[Key, str]] = set()
        """The versions that each workload has had."""
        self.empty_since: dict[str, datetime] = {}
        self.world.watchers.append(self.check)

    # --- the facts ------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """Where the release of the first Rollout is."""
        return place_of(self.rollout(A))

    def rollout(self, key: Key) -> Rollout | None:
        return self.world.cluster.rollouts.get(key)

    def context(self, key: Key) -> Release | None:
        seen = self.world.observe(key)
        if seen is None or seen.workload is None:
            return None
        return as_stored(seen, self.world.cluster.now)

    def ready(self, key: Key) -> list[Pod]:
        return [
            pod
            for pod in self.world.cluster.pods
            if pod.metadata.labels.get("app") == key.name and pod.ready_since is not None
        ]

    # --- the rules that hold at every instant -----------------------------------------------------

    def check(self) -> None:
        self.no_open_route_without_new_pods()
        if not self.excused:
            for key in (A, B):
                self.owners_limits_are_kept(key)

    def no_open_route_without_new_pods(self) -> None:
        """An open shared route has a ready pod that is not stable, or had one a grace period ago."""
        now, empty = self.world.cluster.now, set()
        for key in (A, B):
            rollout = self.rollout(key)
            if key.name not in led(self.world) or rollout is None:
                continue
            stable = moonshift_status(rollout.status).stable_revision
            ready = self.ready(key)
            if ready and not any(pod.revision != stable for pod in ready):
                empty.add(key.name)
        self.empty_since = {name: self.empty_since.get(name, now) for name in empty}
        for name, since in self.empty_since.items():
            assert now - since <= GRACE + RETRY, f"{name}: {self.world.describe()}"

    def owners_limits_are_kept(self, key: Key) -> None:
        """Never fewer ready pods than the owner's maxUnavailable allows."""
        context = self.context(key)
        if context is None or not context.replicas:
            return
        limits = owners_limits(context.owners_values, context.replicas)
        ready = [pod for pod in context.workload.pods if pod.ready_since is not None]
        least = context.replicas - limits.unavailable - 1
        assert len(ready) >= min(least, context.enough_for_all_traffic), self.world.describe()

    # --- owners and people ----------------------------------------------------------------------

    @rule(key=MEMBERS, version=VERSIONS, turns=TURNS)
    @noted
    def release_and_run(self, key: Key, version: str, turns: int) -> None:
        if key not in (d.metadata.key for d in self.world.cluster.deployments):
            return
        # A known limit (docs/decisions/20261125-abandoned-pods-are-exchanged.md): an abandoned revision comes again.
        self.excused |= (key, version) in self.released
        self.released.add((key, version))
        change(self.world, key, version)
        for _ in range(turns):
            if not self.world.advance():
                return

    @rule(key=MEMBERS)
    @noted
    def approve_and_rest(self, key: Key) -> None:
        wait(self.world, 3)
        if self.rollout(key) is not None:
            self.world.people.approve(key)
        self.world.rest()

    @rule(key=MEMBERS, step=st.integers(1, 3))
    @noted
    def jump(self, key: Key, step: int) -> None:
        if self.rollout(key) is not None:
            self.world.people.jump(key, step)

    @rule(key=MEMBERS, paused=st.booleans())
    @noted
    def pause(self, key: Key, paused: bool) -> None:
        if self.rollout(key) is not None:
            self.world.people.pause(key, paused)

    @rule(key=MEMBERS, disabled=st.booleans())
    @noted
    def disable(self, key: Key, disabled: bool) -> None:
        if self.rollout(key) is not None:
            self.excused = True
            self.world.people.disable(key, disabled)

    @rule(key=MEMBERS)
    @noted
    def delete_or_make_rollout(self, key: Key) -> None:
        self.excused = True
        if self.rollout(key) is not None:
            self.world.cluster.rollouts.delete(key)
        else:
            self.make_rollout(key)

    def make_rollout(self, key: Key) -> None:
        self.world.cluster.rollouts.put(member(key.name, style=self.style, steps=self.plan))

    @rule(key=MEMBERS, named=st.sampled_from(("lane", "other", "")))
    @noted
    def name_another_routing(self, key: Key, named: str) -> None:
        """`trafficRoutingRef` is edited in the middle of a release."""
        if self.rollout(key) is not None:
            self.world.people.change(key, lambda spec: with_routing(spec, named))

    @rule(key=MEMBERS, replicas=st.sampled_from((0, 2, 6)))
    @noted
    def scale(self, key: Key, replicas: int) -> None:
        self.excused = True
        self.world.people.edit(key, replicas=replicas)

    # --- the TrafficRouting ---------------------------------------------------------------------

    @property
    def has_lane(self) -> bool:
        return self.world.cluster.traffic_routings.get(LANE) is not None

    @rule()
    @noted
    def delete_or_make_the_routing(self) -> None:
        routings = self.world.cluster.traffic_routings
        if self.has_lane:
            routings.delete(LANE)
        else:
            routings.put(self.routing)

    @precondition(lambda self: self.has_lane)
    @rule(strategy=st.sampled_from(STRATEGIES), services=st.sampled_from((("a",), ("a", "b"))))
    @noted
    def edit_the_routing(self, strategy: TrafficRoutingStrategy, services: tuple[str, ...]) -> None:
        routing = routing_of(self.world)
        spec = lane(*services, strategy=strategy).spec
        self.world.cluster.traffic_routings.put(structs.replace(routing, spec=spec))

    # --- misfortunes ----------------------------------------------------------------------------

    @rule(which=st.integers(0, 40))
    @noted
    def evict_a_pod(self, which: int) -> None:
        self.excused = True
        pods = tuple(self.world.cluster.pods)
        if pods:
            self.world.people.delete_pod(pods[which % len(pods)].metadata.key)

    @rule(key=MEMBERS, version=VERSIONS)
    @noted
    def break_a_version(self, key: Key, version: str) -> None:
        self.excused = True
        revision = self.world.cluster.revision_of(template(version, {"app": key.name}))
        self.world.people.fail_pods(frozenset({revision}))

    @rule(key=MEMBERS)
    @noted
    def delete_or_apply_the_service(self, key: Key) -> None:
        self.excused = True
        services = self.world.cluster.services
        if services.get(key) is not None:
            services.delete(key)
        else:
            self.make_service(key)

    def make_service(self, key: Key) -> None:
        made = make_service(key.name)
        spec = structs.replace(made.spec, selector={"app": key.name})
        self.world.cluster.services.put(structs.replace(made, spec=spec))

    @rule(key=MEMBERS)
    @noted
    def lose_the_route(self, key: Key) -> None:
        self.world.remove_route(NAMESPACE, "VirtualService", key.name)
        self.excused = True

    @rule()
    @noted
    def touch_routes(self) -> None:
        self.world.touch_routes()

    @rule()
    @noted
    def replace_routes(self) -> None:
        self.world.replace_routes()

    @rule(key=MEMBERS, actions=st.integers(0, 3))
    @noted
    def crash(self, key: Key, actions: int) -> None:
        if self.rollout(key) is not None:
            self.world.pass_over(key, crash_after=actions)
            self.world.restart()

    @rule()
    @noted
    def heal(self) -> None:
        self.made_whole()
        self.world.rest()
        self.excused = False

    def made_whole(self) -> None:
        for key in (A, B):
            if self.world.cluster.services.get(key) is None:
                self.make_service(key)
            if self.world.raw_route(NAMESPACE, "VirtualService", key.name) is None:
                self.world.put_route(NAMESPACE, "VirtualService", key.name)
        self.world.people.heal()

    @rule()
    @noted
    def rest(self) -> None:
        self.world.rest()

    # --- the end --------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.made_whole()
        self.world.rest()
        self.made_with_both_services()
        for key in (A, B):
            self.enabled(key)
        for _ in range(12):
            wait(self.world, 3)
            for key in (A, B):
                if self.rollout(key) is not None:
                    self.world.people.approve(key)
            self.world.rest()
        self.finished()

    def made_with_both_services(self) -> None:
        """Pods behind no Service of the TrafficRouting wait for ever for their shared route."""
        found = self.world.cluster.traffic_routings.get(LANE)
        routing = self.routing if found is None else structs.replace(found, spec=self.routing.spec)
        self.world.cluster.traffic_routings.put(routing)

    def enabled(self, key: Key) -> None:
        if self.world.cluster.deployments[key].spec.replicas == 0:
            # The pods that are added are not ready at once.
            self.excused = True
            self.world.people.edit(key, replicas=3)
        self.world.rest()
        if self.rollout(key) is None:
            self.make_rollout(key)
        self.world.people.disable(key, disabled=False)
        self.world.people.pause(key, paused=False)
        self.world.people.change(key, lambda spec: with_routing(spec, "lane"))

    def finished(self) -> None:
        """The routes are their owner's, nobody is a member, all pods run, and there is nothing to decide."""
        why = self.world.describe()
        assert led(self.world) == [], why
        assert routing_of(self.world).metadata.finalizers == (TRAFFIC_ROUTING_FINALIZER,), why
        assert routing_of(self.world).status.members == (), why
        assert routing_of(self.world).status.phase == "Healthy", why
        for key in (A, B):
            seen = self.world.observe(key)
            assert seen is not None
            assert seen.rollout.status.phase == Phase.HEALTHY, why
            workload = self.world.cluster.deployments[key]
            wanted = self.world.cluster.revision_of(workload.spec.template)
            assert {pod.revision for pod in self.ready(key)} == {wanted}, why
            assert len(self.ready(key)) == workload.spec.replicas, why
            decision = decide(seen, self.world.cluster.now)
            assert decision.actions == (), why
            assert decision.wake_at is None, why


def with_routing(spec: RolloutSpec, named: str) -> RolloutSpec:
    """The spec with another `trafficRoutingRef`."""
    assert spec.strategy.canary is not None
    canary = structs.replace(spec.strategy.canary, traffic_routing_ref=named)
    return structs.replace(spec, strategy=structs.replace(spec.strategy, canary=canary))


@pytest.mark.timeout(3600)
def test_rollouts_that_share_routes_under_everything_that_can_come_in_between() -> None:
    run(Lane, 0.3)
