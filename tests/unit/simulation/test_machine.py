"""Releases under everything that can come in between, in any order: the invariants hold, and the end converges."""

import functools
import os
from collections import Counter
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as Search
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec import structs

from controller.api import names
from controller.api.rollout import NetworkRef, Phase
from controller.domain.decision import Action, Refusal
from controller.domain.rollout.phases import decide
from controller.domain.rollout.situation import position
from controller.simulation.cluster import Route
from controller.simulation.world import World
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    VIRTUAL_SERVICE,
    make_deployment,
    make_rollout,
    make_routing,
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
    make_steps("20%") + make_steps("40%", traffic=False) + make_steps("60%"),
    make_steps("100%"),
    make_steps("30%", pause=5),
)
POINTED_AT = NetworkRef("networking.istio.io/v1", "DestinationRule", "web")
VERSIONS = st.sampled_from(("v1", "v2", "v3", "v4"))
TURNS = st.sampled_from((0, 1, 2, 3, 4, 6, 8, 11, 15, 40))
"""How far the world runs before the next thing happens: from the first look to the first pause."""
LIMITS = st.sampled_from((("25%", "25%"), (1, 0), (0, 1), ("100%", 0), (0, "50%")))


ACTIONS = sorted(kind.__name__ for kind in get_args(Action))
"""What the API server, or a script, may refuse."""

P = ParamSpec("P")
M = TypeVar("M", bound="Releases")


def noted(step: Callable[Concatenate[M, P], None]) -> Callable[Concatenate[M, P], None]:
    """A rule that writes down in which state of the release it was met."""

    @functools.wraps(step)
    def met(self: M, /, *args: P.args, **kwargs: P.kwargs) -> None:
        MET[self.state, step.__name__] += 1
        step(self, *args, **kwargs)

    return met


MET: Counter[tuple[str, str]] = Counter()
"""How often each rule was met in each state of the release."""


class Releases(RuleBasedStateMachine):
    """One Deployment, one Rollout, and many hands."""

    world: World
    watch: Watch

    @property
    def state(self) -> str:
        """Where the release is: its goal once it ends, else its step's state, else the phase."""
        rollout = self.world.cluster.rollouts.get(KEY)
        if rollout is None:
            return "no Rollout"
        ours = position(rollout.status)
        if rollout.status.phase != Phase.PROGRESSING:
            return rollout.status.phase or "new"
        return ours.goal or ours.state

    @initialize(
        plan=st.sampled_from(PLANS),
        style=st.sampled_from(("partition", "canary")),
        traffic=st.sampled_from(((), (VIRTUAL_SERVICE,), (VIRTUAL_SERVICE, POINTED_AT))),
        replicas=st.sampled_from((1, 2, 3, 5, 10)),
        limits=LIMITS,
        min_ready=st.sampled_from((0, 4)),
        turns=TURNS,
    )
    def begin(
        self,
        plan: Any,
        style: str,
        traffic: tuple[NetworkRef, ...],
        replicas: int,
        limits: Any,
        min_ready: int,
        turns: int,
    ) -> None:
        surge, unavailable = limits
        self.world = make_world(
            make_rollout(
                strategy=structs.replace(
                    make_strategy(steps=plan, style=style),
                    traffic_routings=(make_routing("web", *traffic),) if traffic else (),
                )
            ),
            make_deployment(
                replicas=replicas,
                max_surge=surge,
                max_unavailable=unavailable,
                min_ready_seconds=min_ready,
            ),
        )
        if POINTED_AT in traffic:
            self.world.cluster.put_route(NAMESPACE, POINTED_AT.kind, "web", Route(depth=1))
        self.limits = limits
        self.min_ready = min_ready
        self.watch = Watch(self.world)
        self.healthy = True
        if turns:
            self.release_and_run("v2", turns)

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
            self.watch.forced &= self.state not in (Phase.HEALTHY, "no Rollout")
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
    @noted
    def change_template(self, version: str) -> None:
        self.abandon(version)
        self.world.people.edit(KEY, template=template(version))

    @precondition(lambda self: self.there)
    @rule(version=VERSIONS, turns=TURNS)
    @noted
    def release_and_run(self, version: str, turns: int) -> None:
        """A release that is under way when the next thing happens."""
        self.abandon(version)
        self.world.people.edit(KEY, template=template(version))
        for _ in range(turns):
            if not self.world.advance():
                return

    @precondition(lambda self: self.there)
    @rule(version=VERSIONS)
    @noted
    def undo(self, version: str) -> None:
        self.abandon(version)
        self.world.people.undo(KEY, template(version))

    @precondition(lambda self: self.there)
    @rule(version=VERSIONS)
    @noted
    def replace_the_manifest(self, version: str) -> None:
        """`kubectl replace`: every label and annotation that is not in it goes."""
        self.abandon(version)
        surge, unavailable = self.limits
        manifest = make_deployment(
            version=version,
            replicas=workload_of(self.world).spec.replicas,
            max_surge=surge,
            max_unavailable=unavailable,
            min_ready_seconds=self.min_ready,
        )
        self.world.people.replace(KEY, manifest.spec)

    @precondition(lambda self: self.there)
    @rule(version=st.sampled_from(("", *("v1", "v2", "v3"))), rounds=st.integers(0, 3))
    @noted
    def replace_the_manifest_while_no_webhook_answers(self, version: str, rounds: int) -> None:
        """The Deployment's own controller goes on at once; for so long what was made is not ours."""
        self.excuse()
        spec = workload_of(self.world).spec
        if version:
            self.abandon(version)
        surge, unavailable = self.limits
        manifest = make_deployment(
            replicas=spec.replicas,
            max_surge=surge,
            max_unavailable=unavailable,
            min_ready_seconds=self.min_ready,
        )
        same = structs.replace(manifest.spec, template=spec.template)
        wanted = structs.replace(manifest.spec, template=template(version)) if version else same
        self.watch.most_new = 10**6
        self.world.people.unheard = True
        self.world.people.replace(KEY, wanted)
        self.world.people.unheard = False
        for _ in range(rounds):
            self.one_round()

    @precondition(lambda self: self.there)
    @rule()
    @noted
    def take_the_label_off(self) -> None:
        labels = workload_of(self.world).metadata.labels
        kept = {name: value for name, value in labels.items() if name != names.WORKLOAD_TYPE}
        self.world.people.label(KEY, kept)

    @precondition(lambda self: self.there)
    @rule(replicas=st.sampled_from((0, 1, 2, 4, 6, 12)))
    @noted
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
    @noted
    def delete_workload(self) -> None:
        self.excuse()
        self.world.cluster.deployments.delete(KEY)

    @precondition(lambda self: not self.there)
    @rule(version=VERSIONS, replicas=st.sampled_from((1, 3, 10)))
    @noted
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
    @noted
    def approve(self) -> None:
        self.world.people.approve(KEY)

    @precondition(lambda self: self.governed)
    @rule()
    @noted
    def approve_and_rest(self) -> None:
        wait(self.world, 3)
        if self.governed:
            self.world.people.approve(KEY)
        self.world.rest()

    @precondition(lambda self: self.governed)
    @rule(turns=st.integers(0, 6))
    @noted
    def approve_to_the_end(self, turns: int) -> None:
        """Every step is let go, and the end is under way when the next thing happens."""
        for _ in range(6):
            if not self.governed or self.state == "Success":
                break
            wait(self.world, 3)
            if self.governed:
                self.world.people.approve(KEY)
            for _ in range(40):
                if self.state == "Success" or not self.world.advance():
                    break
        for _ in range(turns):
            self.world.advance()

    @precondition(lambda self: self.governed)
    @rule(step=st.integers(1, 3))
    @noted
    def approve_step(self, step: int) -> None:
        self.world.people.approve_step(KEY, step)

    @precondition(lambda self: self.governed)
    @rule(step=st.integers(-1, 4))
    @noted
    def jump(self, step: int) -> None:
        self.world.people.jump(KEY, step)

    @precondition(lambda self: self.governed)
    @rule(step=st.integers(0, 4))
    @noted
    def jump_by_the_mailbox(self, step: int) -> None:
        self.world.people.ask_for_step(KEY, step)

    @precondition(lambda self: self.governed)
    @rule(step=st.integers(0, 4))
    @noted
    def move_the_index(self, step: int) -> None:
        self.world.people.move_index(KEY, step)

    @precondition(lambda self: self.governed)
    @rule(plan=st.sampled_from(PLANS))
    @noted
    def edit_the_plan(self, plan: Any) -> None:
        self.world.people.replan(KEY, plan)

    @precondition(lambda self: self.governed)
    @rule(paused=st.booleans())
    @noted
    def pause(self, paused: bool) -> None:
        self.world.people.pause(KEY, paused)

    @precondition(lambda self: self.governed)
    @rule(disabled=st.booleans())
    @noted
    def disable(self, disabled: bool) -> None:
        self.world.people.disable(KEY, disabled)

    @precondition(lambda self: self.governed)
    @rule()
    @noted
    def delete_rollout(self) -> None:
        self.world.cluster.rollouts.delete(KEY)

    @precondition(lambda self: not self.governed)
    @rule(style=st.sampled_from(("partition", "canary")))
    @noted
    def make_rollout_again(self, style: str) -> None:
        self.world.cluster.rollouts.put(make_rollout(style=style))

    # --- misfortune -----------------------------------------------------------------------------

    @rule(which=st.integers(0, 20))
    @noted
    def fail_a_pod(self, which: int) -> None:
        pods = tuple(self.world.cluster.pods)
        if pods:
            self.excuse()
            self.healthy = False
            self.world.people.fail_pods(frozenset({pods[which % len(pods)].metadata.uid}))

    @rule(version=VERSIONS)
    @noted
    def break_a_version(self, version: str) -> None:
        self.excuse()
        self.healthy = False
        revision = self.world.cluster.revision_of(template(version))
        self.world.people.fail_pods(frozenset({revision}))

    @rule(action=st.sampled_from(ACTIONS))
    @noted
    def refuse(self, action: str) -> None:
        self.healthy = False
        self.world.people.forbid(action, Refusal("Forbidden", f"{action} is refused"))

    @rule()
    @noted
    def forbid_pods(self) -> None:
        self.excuse()
        self.healthy = False
        self.world.people.forbid_pods("exceeded quota")

    @rule()
    @noted
    def heal(self) -> None:
        self.world.people.heal()
        self.healthy = True

    @rule(which=st.integers(0, 20))
    @noted
    def evict_a_pod(self, which: int) -> None:
        pods = tuple(self.world.cluster.pods)
        if pods:
            self.excuse()
            self.world.people.delete_pod(pods[which % len(pods)].metadata.key)

    @rule(which=st.integers(0, 3))
    @noted
    def delete_a_replica_set(self, which: int) -> None:
        """With its pods; a Deployment makes only that of its present template again."""
        found = tuple(self.world.cluster.replica_sets)
        if found:
            self.excuse()
            self.watch.forced = True
            self.world.cluster.replica_sets.delete(found[which % len(found)].metadata.key)

    @rule(which=st.integers(0, 20))
    @noted
    def take_a_label_off(self, which: int) -> None:
        """A pod is behind no Service any more, and nobody's."""
        pods = tuple(self.world.cluster.pods)
        if pods:
            self.excuse()
            self.world.people.orphan_pod(pods[which % len(pods)].metadata.key)

    @precondition(lambda self: self.there)
    @rule(version=VERSIONS)
    @noted
    def replace_by_force(self, version: str) -> None:
        """`kubectl replace --force`: deleted, and made again at once."""
        replicas = workload_of(self.world).spec.replicas
        self.world.cluster.deployments.delete(KEY)
        self.make_workload_again(version, replicas)

    @rule()
    @noted
    def touch_routes(self) -> None:
        self.world.cluster.touch_routes()

    # --- time and processes ---------------------------------------------------------------------

    @precondition(lambda self: self.governed)
    @rule(actions=st.integers(0, 3))
    @noted
    def crash(self, actions: int) -> None:
        self.world.pass_over(KEY, crash_after=actions)
        self.world.restart()

    @precondition(lambda self: self.governed)
    @rule()
    @noted
    def pass_on_stale_caches(self) -> None:
        self.world.pass_over(KEY, meanwhile=self.one_round)

    @precondition(lambda self: self.governed and self.there)
    @rule(version=VERSIONS)
    @noted
    def pass_while_the_template_changes(self, version: str) -> None:
        self.abandon(version)
        self.world.pass_over(
            KEY, meanwhile=lambda: self.world.people.edit(KEY, template=template(version))
        )

    @precondition(lambda self: self.governed)
    @rule()
    @noted
    def pass_while_an_approval_comes(self) -> None:
        self.world.pass_over(KEY, meanwhile=lambda: self.world.people.approve(KEY))

    def one_round(self) -> None:
        self.world.tick()

    @rule(rounds=st.integers(1, 4))
    @noted
    def controllers_run(self, rounds: int) -> None:
        for _ in range(rounds):
            self.one_round()

    @precondition(lambda self: self.governed)
    @rule(passes=st.integers(1, 4))
    @noted
    def we_run(self, passes: int) -> None:
        for _ in range(passes):
            self.world.pass_over(KEY)

    @rule(seconds=st.sampled_from((0.5, 1, 2, 3, 5, 8)))
    @noted
    def time_passes(self, seconds: float) -> None:
        wait(self.world, seconds)

    @rule()
    @noted
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


EXAMPLES = {"quick": 150, "thorough": 4500, "long": 5000}
"""By profile, which the environment variable MOONSHIFT_PROFILE names; only the quick one is the same each time."""
PROFILE = os.environ.get("MOONSHIFT_PROFILE", "quick")

FIND_ONLY = "MOONSHIFT_FIND_ONLY" in os.environ
"""Stop at the first example that fails, and do not look for the smallest: who only asks whether there is one."""
RUNS = settings(
    max_examples=EXAMPLES[PROFILE],
    stateful_step_count=14,
    deadline=None,
    derandomize=PROFILE != "long",
    phases=tuple(Search)[: 3 if FIND_ONLY else None],
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
MEANINGLESS = {"crash", "we_run", "rest", "controllers_run", "time_passes"}
"""Rules that are no disturbance."""
UNDER_WAY = ("BeforeStepUpgrade", "StepUpgrade", "StepTrafficRouting", "StepPaused")
ENDS = ("Rollback", "Success", "Continuous")
RULES = {
    name for name, found in vars(Releases).items() if hasattr(found, "hypothesis_stateful_rule")
}


@pytest.mark.timeout(600)
def test_releases_under_everything_that_can_come_in_between() -> None:
    run_state_machine_as_test(Releases, settings=RUNS)
    if PROFILE == "quick":
        return
    assert sum(MET.values()) >= 20_000
    states = ("Healthy", *UNDER_WAY, *ENDS)
    wanted = {(state, rule) for state in states for rule in RULES - MEANINGLESS}
    assert not {pair for pair in wanted - MET.keys() if possible(*pair)}


def possible(state: str, rule: str) -> bool:
    """Whether a rule can be met in a state: two of them need what these states do not have."""
    return rule not in ("make_rollout_again", "make_workload_again")
