"""One release at one instant, with the status that this pass has made of it so far: every decision is made from it.

Why one value: a decision that takes the observation and a status apart can ask the stored status where the running one
is meant. Invariants: frozen; `ours` is the running status, and the status that a crash would leave is asked for by name
(`stored`). Must not decide anything.
"""

from datetime import UTC, datetime

from msgspec import structs

from controller.api.rollout import (
    CanaryStatus,
    MoonshiftStatus,
    Rollout,
    RolloutStatus,
    StepState,
)
from controller.domain.decision import Action, Note, Refusal
from controller.domain.observation import Observation
from controller.domain.pods.rollback_batches import back_at, stayed
from controller.domain.rollout.words import status as building
from controller.domain.rollout.words.release_context import (
    ReleaseContext,
    canary_status,
    moonshift_status,
)
from controller.domain.rollout.words.transition import Continue, Stop, wait_by_choice


class Release(ReleaseContext, frozen=True, dict=True):
    """The observation of a release at an instant, and its status so far."""

    status: RolloutStatus

    # --- read -----------------------------------------------------------------------------------

    @property
    def ours(self) -> MoonshiftStatus:
        """Our own part of the running status."""
        return moonshift_status(self.status)

    @property
    def shown(self) -> CanaryStatus:
        """The sub-status that clients read, as it is running."""
        return canary_status(self.status)

    @property
    def stored(self) -> RolloutStatus:
        """The status that the API server has: all that is known after a crash of this pass."""
        return self.seen.rollout.status

    def believed(self) -> "Release":
        """The running status stands for the stored one, which could not be believed."""
        rollout = structs.replace(self.seen.rollout, status=self.status)
        return as_stored(structs.replace(self.seen, rollout=rollout), self.now)

    def wanted(self, index: int) -> int:
        """Pods of the new revision wanted at this step. On a way back, these include pods that have always stayed
        new.
        """
        if not self.ours.returning:
            return self.batch(index)
        alive = (pod for pod in self.new_pods if not pod.metadata.deleting)
        there = stayed(alive, self.shown.observed_rollout_id)
        return back_at(self.steps, index, self.replicas, len(there))

    # --- the next status ------------------------------------------------------------------------

    def at(self, status: RolloutStatus) -> "Release":
        """The same moment with this status. Facts that were computed stay known: no status is part of them."""
        moved = Release(self.seen, self.now, status)
        structs.force_setattr(moved, "__dict__", self.__dict__)
        return moved

    def noting(self, **fields: object) -> "Release":
        """Fields of our own part of the status, changed."""
        return self.at(building.with_moonshift_status(self.status, **fields))

    def showing(self, **fields: object) -> "Release":
        """Fields of the sub-status that clients read, changed."""
        return self.at(building.with_canary(self.status, **fields))

    def reporting(self, **fields: object) -> "Release":
        """Fields at the top of the status, changed: its phase, its message, its parts as a whole."""
        return self.at(structs.replace(self.status, **fields))

    def entering(self, state: StepState) -> "Release":
        """In another state of the present step."""
        return self.at(building.enter(self.status, state, self.now))

    def progressing(self, reason: str, message: str) -> "Release":
        """The Progressing condition and the line `kubectl get` shows."""
        return self.at(building.progressing(self.status, reason, message, self.now))

    def with_condition(self, kind: str, value: str, reason: str, message: str) -> "Release":
        """A condition; nothing changes when the status says this already."""
        return self.at(building.with_condition(self.status, kind, value, reason, message, self.now))

    def without_condition(self, kind: str) -> "Release":
        """Without a condition."""
        return self.at(building.without_condition(self.status, kind))

    # --- the outcome ----------------------------------------------------------------------------

    def stop(
        self,
        *actions: Action,
        wake_at: datetime | None = None,
        notes: tuple[Note, ...] = (),
        problem: Refusal | None = None,
        brief: bool = False,
        by_choice: bool = False,
    ) -> Stop:
        """Do these actions in order (perhaps none), then wait."""
        return Stop(self.status, actions, wake_at, notes, problem, brief, by_choice=by_choice)

    def wait(self, until: datetime, *actions: Action) -> Stop:
        """A wait that the product chooses."""
        return wait_by_choice(self.status, until, actions)

    def go_on(self, *notes: Note, actions: tuple[Action, ...] = ()) -> Continue:
        """Decide again from here."""
        return Continue(self.status, notes, actions)


def as_stored(seen: Observation, now: datetime) -> Release:
    """A release as the API server has it, before a pass has decided anything."""
    return Release(seen, now, seen.rollout.status)


_NEVER = datetime.min.replace(tzinfo=UTC)


def of_rollout_alone(rollout: Rollout) -> Release:
    """A release of which only the Rollout is known, and no time: for questions about its plan and status alone."""
    return as_stored(Observation(rollout=rollout, plan_hash=""), _NEVER)
