"""The questions that steps and endings ask whatever moves the pods.

Invariant: a mechanism answers with facts to bring about and takes no pod away from a route; its caller decides which
question is asked when.
"""

from typing import Protocol

from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.situation import Situation
from controller.domain.rollout.turn import Stop


class Mechanism(Protocol):
    """Moves the pods of one kind of workload in one style."""

    def clear(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """What must be so before a pod of a step is moved at all; None when it is."""
        ...

    def grow(
        self, sit: Situation, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """The next move towards the step's pods; with `give_back`, the old share goes as the new pods become ready."""
        ...

    def regrow(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """What brings back pods that a route is about to lead to, or leads to, and that somebody took away."""
        ...

    def old_share(self, sit: Situation, status: RolloutStatus, index: int) -> Stop | None:
        """Give the old pods' share back, no sooner than the margin after the route left them; None when it is."""
        ...

    def keep(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """Repairs of the step's pods while it waits."""
        ...

    def fit(self, sit: Situation) -> tuple[Action, ...]:
        """Take away pods that their owner does not ask for any more, where the hold keeps their controller from it."""
        ...

    def only_stable_returns(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """The workload has no replicas: nothing but the stable revision comes back when it has some; None when so."""
        ...

    def returned_as_new(self, sit: Situation, status: RolloutStatus) -> bool:
        """It had none for a while, and came back as the new revision although the step leaves stable pods."""
        ...

    def bring_stable_back(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """The stable revision's pods are there and ready; None when they are."""
        ...

    def send_new_away(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """No pod is of the new revision; None when none is."""
        ...

    def clear_abandoned(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Make way for another revision: what the release before it left behind goes; None when nothing is left."""
        ...

    def refill(self, sit: Situation, stable: Readiness) -> tuple[Action, ...] | None:
        """Grow the stable revision before it takes all traffic back; None where it has never shrunk."""
        ...

    def release(self, sit: Situation, *, keep_mark: bool, drop_label: bool = False) -> Action:
        """The owner's own values, in one write; our marks go with them unless `keep_mark`."""
        ...

    def promoted(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Wait until the workload, free again, is of its template; None when it is."""
        ...
