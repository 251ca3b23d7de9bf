"""Random releases: every action that can disturb a release, for all kinds of workload.

A machine of one kind says how it begins and how it ends (`begin`, `finished`), and adds the disturbances of its kind.
Invariant: the watch is asked after every write; a rule that an action makes meaningless is suspended until everything
is whole.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from controller.api import names
from controller.api.rollout import MoonshiftStatus, Phase
from controller.domain.decision import Refusal
from controller.domain.rollout.words.release_context import moonshift_status
from tests.unit.builders import (
    KEY,
    make_steps,
    status_of,
    template,
    wait,
)
from tests.unit.simulation.misfortunes import ACTIONS, VERSIONS, Misfortunes
from tests.unit.simulation.owners import version_of, without_label
from tests.unit.simulation.rounds import noted

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
TURNS = st.sampled_from((0, 1, 2, 3, 4, 6, 8, 11, 15, 40))
"""How far the world runs before the next thing happens: from the first look to the first pause."""


class Releases(Misfortunes):
    """One workload, one Rollout, and many people and programs that change them."""

    # --- the owner ------------------------------------------------------------------------------

    @precondition(lambda self: self.there)
    @rule(version=VERSIONS)
    @noted
    def change_template(self, version: str) -> None:
        self.abandon(version)
        self.owner.edit(template=template(version))

    @precondition(lambda self: self.there)
    @rule(version=VERSIONS, turns=TURNS)
    @noted
    def release_and_run(self, version: str, turns: int) -> None:
        """A release that is under way when the next thing happens."""
        self.abandon(version)
        self.owner.edit(template=template(version))
        for _ in range(turns):
            if not self.world.advance():
                return

    @precondition(lambda self: self.there)
    @rule(version=VERSIONS)
    @noted
    def undo(self, version: str) -> None:
        self.abandon(version)
        self.owner.undo(version)

    @precondition(lambda self: self.there)
    @rule(version=VERSIONS)
    @noted
    def replace_the_manifest(self, version: str) -> None:
        """`kubectl replace`: every label and annotation that is not in it goes."""
        self.abandon(version)
        self.owner.replace(version, self.owner.size)

    @precondition(lambda self: self.there)
    @rule(version=st.sampled_from(("", *("v1", "v2", "v3"))), rounds=st.integers(0, 3))
    @noted
    def replace_the_manifest_while_no_webhook_answers(self, version: str, rounds: int) -> None:
        """The Deployment's own controller goes on at once; until we see them, its pods do not count as ours."""
        self.excuse()
        workload = self.owner.find()
        assert workload is not None
        if version:
            self.abandon(version)
        self.unheard(
            lambda: self.owner.replace(version or version_of(workload), self.owner.size), rounds
        )

    @precondition(lambda self: self.there)
    @rule(rounds=st.integers(0, 3))
    @noted
    def take_the_label_off_while_no_webhook_answers(self, rounds: int) -> None:
        self.excuse()
        self.unheard(self.take_the_label_off, rounds)

    def unheard(self, action: Callable[[], None], rounds: int) -> None:
        """An action that no webhook sees; for this number of rounds, the workload's own controller continues at
        once."""
        self.watch.most_new = 10**6
        self.world.people.unheard = True
        action()
        self.world.people.unheard = False
        for _ in range(rounds):
            self.one_round()

    @precondition(lambda self: self.there)
    @rule()
    @noted
    def take_the_label_off(self) -> None:
        workload = self.owner.find()
        assert workload is not None
        self.owner.label(without_label(workload.metadata, names.WORKLOAD_TYPE))

    @precondition(lambda self: self.there)
    @rule(replicas=st.sampled_from((0, 1, 2, 4, 6, 12)))
    @noted
    def scale(self, replicas: int) -> None:
        self.excuse()
        self.scaled(replicas, seen_at_zero=self.owner.size == 0)

    def scaled(self, replicas: int, *, seen_at_zero: bool) -> None:
        """Scale the workload to this number of replicas, and let the world come to rest."""
        before = self.position
        self.owner.scale(replicas)
        self.watch.most_new = 10**6
        self.world.rest()
        context = self.watch.context
        if context is not None:
            self.watch.most_new = self.watch.new_pods_asked_for() + self.missing
            wanted = context.batch(max(1, self.position.step))
            self.watch.surplus = max(self.watch.surplus, self.watch.most_new - wanted)
        if replicas:
            self.whole()
            if seen_at_zero:
                self.comes_back_within_its_step(before)

    @property
    def position(self) -> MoonshiftStatus:
        """Where the release is, as the controller keeps it."""
        rollout = self.world.cluster.rollouts.get(KEY)
        return MoonshiftStatus() if rollout is None else moonshift_status(rollout.status)

    def comes_back_within_its_step(self, before: MoonshiftStatus) -> None:
        """From zero no more pods are new than the step wants, and the stable revision is still the same."""
        context, ours = self.watch.context, self.position
        under_way = status_of(self.world).phase == Phase.PROGRESSING if self.governed else False
        if context is None or not under_way or ours.goal or ours.release != before.release:
            return
        if not self.healthy or self.watch.forced or not self.owner.remembers_stable:
            return
        alive = [pod for pod in context.new_pods if not pod.metadata.deleting]
        assert len(alive) <= context.batch(ours.step), self.world.describe()
        assert ours.stable_revision == before.stable_revision, self.world.describe()

    @precondition(lambda self: self.there)
    @rule(replicas=st.sampled_from((1, 3, 10)), ticks=st.integers(0, 12), wakes=st.booleans())
    @noted
    def scale_to_zero_and_back(self, replicas: int, ticks: int, wakes: bool) -> None:
        """As an autoscaler does that counts events: at once, or after a while."""
        self.excuse()
        self.watch.most_new = 10**6
        self.owner.scale(0)
        for _ in range(ticks):
            if wakes:
                self.world.advance()
            else:
                self.one_round()
        self.scaled(replicas, seen_at_zero=False)

    @precondition(lambda self: self.there)
    @rule()
    @noted
    def delete_workload(self) -> None:
        self.excuse()
        self.owner.delete()

    @precondition(lambda self: not self.there)
    @rule(version=VERSIONS, replicas=st.sampled_from((1, 3, 10)))
    @noted
    def make_workload_again(self, version: str, replicas: int) -> None:
        self.excuse()
        self.owner.make(version, replicas)
        self.abandon(version)

    @precondition(lambda self: self.there)
    @rule(version=VERSIONS)
    @noted
    def replace_by_force(self, version: str) -> None:
        """`kubectl replace --force`: deleted, and made again at once."""
        replicas = self.owner.size
        self.owner.delete()
        self.make_workload_again(version, replicas)

    # --- people at the Rollout ------------------------------------------------------------------

    @precondition(lambda self: self.governed)
    @rule()
    @noted
    def approve(self) -> None:
        self.world.people.approve(KEY)

    @precondition(lambda self: self.governed)
    @rule(action=st.sampled_from(ACTIONS))
    @noted
    def approve_while_a_right_is_taken(self, action: str) -> None:
        """The right is taken, the step is approved, and the right is granted again."""
        refused = Refusal("Forbidden", f"{action} is refused", retry_after=10)
        self.world.people.forbid(action, refused)
        self.world.people.approve(KEY)
        wait(self.world, 8)
        self.world.people.grant(action)

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
        """A step that wants the stable Service pinned may take the place of one that does not."""
        self.watch.unpinned = True
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

    # --- the end --------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        world = self.world
        self.made_whole()
        if self.there and self.owner.size == 0:
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
        self.finished()

    def finished(self) -> None:
        """Nothing of ours is left, everything runs, and there is nothing to decide."""
        raise NotImplementedError
