"""How many random releases are tried, and whether each rule was met in each state of a release.

Why counted: a rule that is never met in a state proves nothing there. Invariant: the quick profile tries the same
examples each time, in every process.
"""

import functools
import os
from collections import Counter
from collections.abc import Callable, Collection
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import Phase as Search
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from controller.api.rollout import Phase, Rollout
from controller.domain.rollout.words.release_context import moonshift_status
from tests.constants import load_all_modules

EXAMPLES = {"quick": 150, "thorough": 4500, "long": 5000}
"""By profile, which the environment variable MOONSHIFT_PROFILE names; only the long one differs from time to time."""
PROFILE = os.environ.get("MOONSHIFT_PROFILE", "quick")
FIND_ONLY = "MOONSHIFT_FIND_ONLY" in os.environ
"""Stop at the first example that fails, and do not look for the smallest: for runs that only ask whether one exists."""
MEANINGLESS = {"crash", "die_again_and_again", "we_run", "rest", "controllers_run", "time_passes"}
"""Rules that are no disturbance."""
NEED_A_LOSS = {"make_rollout_again", "make_workload_again"}
"""Rules that need a condition that a release under way does not meet."""
STATES = (
    "Healthy",
    "BeforeStepUpgrade",
    "StepUpgrade",
    "StepTrafficRouting",
    "StepPaused",
    "Rollback",
    "Success",
    "Continuous",
)
MET: Counter[tuple[str, str, str]] = Counter()
"""How often each rule of each machine was met in each state of the release."""


P = ParamSpec("P")
M = TypeVar("M", bound="Stated")


class Stated(Protocol):
    """A machine that knows where its release is."""

    @property
    def state(self) -> str: ...


def noted(step: Callable[Concatenate[M, P], None]) -> Callable[Concatenate[M, P], None]:
    """A rule that writes down in which state of the release it was met."""

    @functools.wraps(step)
    def met(self: M, /, *args: P.args, **kwargs: P.kwargs) -> None:
        MET[type(self).__name__, self.state, step.__name__] += 1
        step(self, *args, **kwargs)

    return met


def place_of(rollout: Rollout | None) -> str:
    """Where a release is: its goal once it ends, else its step's state, else the phase."""
    if rollout is None:
        return "no Rollout"
    ours = moonshift_status(rollout.status)
    if rollout.status.phase != Phase.PROGRESSING:
        return rollout.status.phase or "new"
    return ours.goal or ours.state


def run(machine: type[RuleBasedStateMachine], share: float = 1) -> None:
    """Try this share of the profile's examples."""
    load_all_modules()
    rules = settings(
        max_examples=int(EXAMPLES[PROFILE] * share),
        stateful_step_count=14,
        deadline=None,
        derandomize=PROFILE != "long",
        phases=tuple(Search)[: 3 if FIND_ONLY else None],
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(machine, settings=rules)


def unmet(
    machine: type[RuleBasedStateMachine], impossible: Collection[tuple[str, str]] = ()
) -> set[tuple[str, str]]:
    """Pairs of state and rule that no example met; the quick profile is too short to ask."""
    if PROFILE == "quick":
        return set()
    rules = {
        name for name in dir(machine) if hasattr(getattr(machine, name), "hypothesis_stateful_rule")
    }
    met = {(state, rule) for name, state, rule in MET if name == machine.__name__}
    wanted = {(state, rule) for state in STATES for rule in rules - MEANINGLESS - NEED_A_LOSS}
    return wanted - met - set(impossible)
