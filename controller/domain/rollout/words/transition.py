"""The outcome of one state: continue deciding, or stop here with actions or a wait.

Invariant: a state that needs nothing is passed through without a write, so a pass continues until it meets an action or
a wait. `None` from a part of a state means that this part needs nothing.
"""

from datetime import datetime

from msgspec import structs

from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action, Note, Refusal, Value


class Continue(Value, frozen=True):
    """The status has changed; decide again from there."""

    status: RolloutStatus
    notes: tuple[Note, ...] = ()
    actions: tuple[Action, ...] = ()
    """Executed before the actions of the Stop that ends the pass."""


class Stop(Value, frozen=True):
    """Do these actions in order (perhaps none), then wait for an event, or for `wake_at`.

    `problem` is set when only a person can help; it becomes the Stalled condition.
    """

    status: RolloutStatus
    actions: tuple[Action, ...] = ()
    wake_at: datetime | None = None
    notes: tuple[Note, ...] = ()
    problem: Refusal | None = None
    brief: bool = False
    """The awaited change usually comes within moments, so this status need not be written before it."""
    urgent: tuple[Action, ...] = ()
    """Executed before all other actions, so that a refusal of another action cannot keep requests on a side without
    pods.
    """
    by_choice: bool = False
    """Nothing is missing: the release waits for a time of its own choice, which no deadline counts as work."""

    def at(self, status: RolloutStatus) -> "Stop":
        """The same outcome with another status."""
        return structs.replace(self, status=status)

    def also(
        self,
        *actions: Action,
        first: tuple[Action, ...] = (),
        wake_at: datetime | None = None,
        notes: tuple[Note, ...] = (),
        problem: Refusal | None = None,
    ) -> "Stop":
        """This outcome and more: actions after its own, or `first`; the earlier of both times; a problem if it has
        none.
        """
        times = [time for time in (self.wake_at, wake_at) if time is not None]
        return structs.replace(
            self,
            actions=(*first, *self.actions, *actions),
            wake_at=min(times, default=None),
            notes=(*self.notes, *notes),
            problem=self.problem or problem,
        )


def wait_by_choice(
    status: RolloutStatus, until: datetime, actions: tuple[Action, ...] = ()
) -> Stop:
    """A wait that the product chooses, such as a grace period. Every such wait is made here, so that no deadline counts
    it: a good version was rolled back because its grace periods did not fit into its deadline.
    """
    return Stop(status, actions, wake_at=until, by_choice=True)


Transition = Continue | Stop
