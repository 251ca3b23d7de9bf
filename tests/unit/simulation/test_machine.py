"""Releases under everything that can come in between, in any order: the invariants hold, and the end converges."""

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from controller.api import names
from controller.api.rollout import Phase
from controller.domain.rollout.phases import decide
from controller.simulation.world import World
from tests.unit.builders import (
    KEY,
    make_deployment,
    make_rollout,
    make_steps,
    make_strategy,
    make_world,
    status_of,
    template,
    wait,
    workload_of,
)
from tests.unit.simulation.invariants import Watch

PLANS = (
    make_steps("20%", "50%"),
    make_steps("20%", "50%", "100%"),
    make_steps(1, "40%", pause=0),
    make_steps("10%", "30%", traffic=False) + make_steps("50%"),
    make_steps("50%") + make_steps("60%", "100%", traffic=False),
    make_steps("100%"),
    make_steps("30%", pause=5),
)
VERSIONS = st.sampled_from(("v1", "v2", "v3", "v4"))
LIMITS = st.sampled_from((("25%", "25%"), (1, 0), (0, 1), ("100%", 0), (0, "50%")))


class Releases(RuleBasedStateMachine):
    """One Deployment, one Rollout, and many hands."""

    world: World
    watch: Watch

    @initialize(
        plan=st.sampled_from(PLANS),
        style=st.sampled_from(("partition", "canary")),
        traffic=st.booleans(),
        replicas=st.sampled_from((1, 2, 3, 5, 10)),
        limits=LIMITS,
        min_ready=st.sampled_from((0, 4)),
    )
    def begin(
        self, plan: Any, style: str, traffic: bool, replicas: int, limits: Any, min_ready: int
    ) -> None:
        surge, unavailable = limits
        self.world = make_world(
            make_rollout(strategy=make_strategy(steps=plan, style=style, traffic=traffic)),
            make_deployment(
                replicas=replicas,
                max_surge=surge,
                max_unavailable=unavailable,
                min_ready_seconds=min_ready,
            ),
        )
        self.limits = limits
        self.min_ready = min_ready
        self.watch = Watch(self.world)
        self.healthy = True

    # --- who is there ---------------------------------------------------------------------------

    @property
    def there(self) -> bool:
        return self.world.cluster.deployments.get(KEY) is not None

    @property
    def governed(self) -> bool:
        return self.world.cluster.rollouts.get(KEY) is not None

    def whole(self) -> None:
        """At rest with nothing broken, counts of pods prove something again."""
        self.world.rest()
        if self.healthy:
            self.watch.excused = False
            self.watch.accept_replacement()
            self.watch.check()

    def abandon(self, version: str) -> None:
        """Another revision takes the place of the one before."""
        if self.there and workload_of(self.world).spec.template == template(version):
            return
        revision = self.world.cluster.revision_of(template(version))
        alive = [pod for pod in self.world.cluster.pods if not pod.metadata.deleting]
        self.watch.most_new = sum(pod.revision == revision for pod in alive)
        self.watch.replaced = True

    def excuse(self) -> None:
        self.watch.excused = True

    # --- the owner ------------------------------------------------------------------------------

    @precondition(lambda self: self.there)
    @rule(version=VERSIONS)
    def change_template(self, version: str) -> None:
        self.abandon(version)
        self.world.people.edit(KEY, template=template(version))

    @precondition(lambda self: self.there)
    @rule(version=VERSIONS)
    def undo(self, version: str) -> None:
        self.abandon(version)
        self.world.people.undo(KEY, template(version))

    @precondition(lambda self: self.there)
    @rule(replicas=st.sampled_from((0, 1, 2, 4, 6, 12)))
    def scale(self, replicas: int) -> None:
        self.excuse()
        self.world.people.edit(KEY, replicas=replicas)
        self.watch.most_new = 10**6
        self.world.rest()
        sit = self.watch.situation
        if sit is not None:
            self.watch.most_new = len([p for p in sit.new_pods if not p.metadata.deleting])
        if replicas:
            self.whole()

    @precondition(lambda self: self.there)
    @rule()
    def delete_workload(self) -> None:
        self.excuse()
        self.world.cluster.deployments.delete(KEY)

    @precondition(lambda self: not self.there)
    @rule(version=VERSIONS, replicas=st.sampled_from((1, 3, 10)))
    def make_workload_again(self, version: str, replicas: int) -> None:
        self.excuse()
        surge, unavailable = self.limits
        self.world.cluster.deployments.put(
            make_deployment(
                version=version,
                replicas=replicas,
                max_surge=surge,
                max_unavailable=unavailable,
                min_ready_seconds=self.min_ready,
            )
        )
        self.abandon(version)

    # --- people at the Rollout ------------------------------------------------------------------

    @precondition(lambda self: self.governed)
    @rule()
    def approve(self) -> None:
        self.world.people.approve(KEY)

    @precondition(lambda self: self.governed)
    @rule()
    def approve_and_rest(self) -> None:
        wait(self.world, 3)
        if self.governed:
            self.world.people.approve(KEY)
        self.world.rest()

    @precondition(lambda self: self.governed)
    @rule(step=st.integers(1, 3))
    def approve_step(self, step: int) -> None:
        self.world.people.approve_step(KEY, step)

    @precondition(lambda self: self.governed)
    @rule(step=st.integers(-1, 4))
    def jump(self, step: int) -> None:
        self.world.people.jump(KEY, step)

    @precondition(lambda self: self.governed)
    @rule(step=st.integers(0, 4))
    def jump_by_the_mailbox(self, step: int) -> None:
        self.world.people.ask_for_step(KEY, step)

    @precondition(lambda self: self.governed)
    @rule(plan=st.sampled_from(PLANS))
    def edit_the_plan(self, plan: Any) -> None:
        self.world.people.replan(KEY, plan)

    @precondition(lambda self: self.governed)
    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        self.world.people.pause(KEY, paused)

    @precondition(lambda self: self.governed)
    @rule(disabled=st.booleans())
    def disable(self, disabled: bool) -> None:
        self.world.people.disable(KEY, disabled)

    @precondition(lambda self: self.governed)
    @rule()
    def delete_rollout(self) -> None:
        self.world.cluster.rollouts.delete(KEY)

    @precondition(lambda self: not self.governed)
    @rule(style=st.sampled_from(("partition", "canary")))
    def make_rollout_again(self, style: str) -> None:
        self.world.cluster.rollouts.put(make_rollout(style=style))

    # --- misfortune -----------------------------------------------------------------------------

    @rule(which=st.integers(0, 20))
    def fail_a_pod(self, which: int) -> None:
        pods = tuple(self.world.cluster.pods)
        if pods:
            self.excuse()
            self.healthy = False
            self.world.people.fail_pods(frozenset({pods[which % len(pods)].metadata.uid}))

    @rule(version=VERSIONS)
    def break_a_version(self, version: str) -> None:
        self.excuse()
        self.healthy = False
        revision = self.world.cluster.revision_of(template(version))
        self.world.people.fail_pods(frozenset({revision}))

    @rule()
    def heal(self) -> None:
        self.world.people.heal()
        self.healthy = True

    @rule(which=st.integers(0, 20))
    def evict_a_pod(self, which: int) -> None:
        pods = tuple(self.world.cluster.pods)
        if pods:
            self.excuse()
            self.world.people.delete_pod(pods[which % len(pods)].metadata.key)

    @rule()
    def touch_routes(self) -> None:
        self.world.cluster.touch_routes()

    # --- time and processes ---------------------------------------------------------------------

    @precondition(lambda self: self.governed)
    @rule(actions=st.integers(0, 3))
    def crash(self, actions: int) -> None:
        self.world.pass_over(KEY, crash_after=actions)
        self.world.restart()

    @precondition(lambda self: self.governed)
    @rule()
    def pass_on_stale_caches(self) -> None:
        self.world.pass_over(KEY, meanwhile=self.one_round)

    @precondition(lambda self: self.governed and self.there)
    @rule(version=VERSIONS)
    def pass_while_the_template_changes(self, version: str) -> None:
        self.abandon(version)
        self.world.pass_over(
            KEY, meanwhile=lambda: self.world.people.edit(KEY, template=template(version))
        )

    @precondition(lambda self: self.governed)
    @rule()
    def pass_while_an_approval_comes(self) -> None:
        self.world.pass_over(KEY, meanwhile=lambda: self.world.people.approve(KEY))

    def one_round(self) -> None:
        self.world.tick()

    @rule(rounds=st.integers(1, 4))
    def controllers_run(self, rounds: int) -> None:
        for _ in range(rounds):
            self.one_round()

    @precondition(lambda self: self.governed)
    @rule(passes=st.integers(1, 4))
    def we_run(self, passes: int) -> None:
        for _ in range(passes):
            self.world.pass_over(KEY)

    @rule(seconds=st.sampled_from((0.5, 1, 2, 3, 5, 8)))
    def time_passes(self, seconds: float) -> None:
        wait(self.world, seconds)

    @rule()
    def rest(self) -> None:
        self.whole()

    # --- the end --------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        world = self.world
        world.people.heal()
        self.healthy = True
        if self.there and workload_of(world).spec.replicas == 0:
            self.scale(3)
        if not self.there:
            self.make_workload_again("v1", 3)
        if self.governed and world.cluster.rollouts[KEY].metadata.deleting is False:
            world.people.pause(KEY, paused=False)
        self.whole()
        for _ in range(12):
            if not self.governed or status_of(world).phase in (Phase.HEALTHY, Phase.DISABLED):
                break
            wait(world, 3)
            world.people.approve(KEY)
            self.whole()
        finished(world, self.limits, self.min_ready)


def finished(world: World, limits: Any, min_ready: int) -> None:
    """Nothing of ours is left, everything runs, and there is nothing to decide."""
    workload = workload_of(world)
    why = world.describe()
    assert not {*names.OURS_ON_WORKLOAD} & workload.metadata.annotations.keys(), why
    assert names.STABLE_REVISION not in workload.metadata.labels, why
    assert workload.spec.min_ready_seconds == min_ready, why
    assert workload.spec.progress_deadline_seconds == 600, why
    rolling = workload.spec.strategy.rolling_update
    assert rolling is not None
    assert (rolling.max_surge, rolling.max_unavailable) == limits, why
    assert not workload.spec.paused, why
    assert [d.metadata.name for d in world.cluster.deployments] == ["web"], why
    assert [s.metadata.name for s in world.cluster.services] == ["web"], why
    service = world.cluster.services[KEY]
    assert service.spec.selector == {"app": "web"}, why
    assert not service.metadata.labels, why
    assert not service.metadata.annotations, why
    assert all(route.plan is None for route in world.cluster.routes), why
    wanted = world.cluster.revision_of(workload.spec.template)
    assert {pod.revision for pod in world.cluster.pods} == {wanted}, why
    assert len(tuple(world.cluster.pods)) == workload.spec.replicas, why
    seen = world.observe(KEY)
    if seen is None:
        assert names.WORKLOAD_TYPE not in workload.metadata.labels, why
        return
    assert seen.rollout.status.phase in (Phase.HEALTHY, Phase.DISABLED), why
    decision = decide(seen, world.cluster.now)
    assert decision.actions == (), why
    assert decision.status == seen.rollout.status, why
    assert decision.wake_at is None, why


EXAMPLES = {"quick": 150, "thorough": 1500, "long": 5000}
"""By profile, which the environment variable MOONSHIFT_PROFILE names; only the quick one is the same each time."""
PROFILE = os.environ.get("MOONSHIFT_PROFILE", "quick")

TestReleases = Releases.TestCase
TestReleases.settings = settings(
    max_examples=EXAMPLES[PROFILE],
    stateful_step_count=14,
    deadline=None,
    derandomize=PROFILE == "quick",
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
