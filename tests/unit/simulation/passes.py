"""Rules of time and processes: passes that crash or see an old state, controllers that run, a clock that advances.

Invariant: no rule here is an action of a person.
"""

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.unit.builders import KEY, wait
from tests.unit.simulation.invariants import Watch
from tests.unit.simulation.rounds import noted, place_of
from tests.unit.worlds import World

ALL_ACTIONS = 1000


class Passes(RuleBasedStateMachine):
    """A world in which time passes."""

    world: World
    watch: Watch

    @property
    def state(self) -> str:
        """Where the release is."""
        return place_of(self.world.cluster.rollouts.get(KEY))

    @property
    def governed(self) -> bool:
        return self.world.cluster.rollouts.get(KEY) is not None

    @precondition(lambda self: self.governed)
    @rule(actions=st.integers(0, 3))
    @noted
    def crash(self, actions: int) -> None:
        self.world.pass_over(KEY, crash_after=actions)
        self.world.restart()

    @precondition(lambda self: self.governed)
    @rule(lives=st.integers(1, 4), seconds=st.sampled_from((0, 1, 10)))
    @noted
    def die_again_and_again(self, lives: int, seconds: float) -> None:
        """Each process acts, and dies before its status is written."""
        for _ in range(lives):
            self.world.pass_over(KEY, crash_after=ALL_ACTIONS)
            self.world.restart()
            self.one_round()
            self.world.cluster.now += timedelta(seconds=seconds)
            self.watch.nobody_was_at_work()

    @precondition(lambda self: self.governed)
    @rule()
    @noted
    def pass_on_stale_caches(self) -> None:
        self.world.pass_over(KEY, meanwhile=self.one_round)

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
