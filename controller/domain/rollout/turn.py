"""The outcome of one look at a state: go on deciding, or stop here with something to do or to wait for.

Invariant: a state that needs nothing is walked through without a write, so a pass decides on until it meets an
action or a wait; `None` from a state's part means that the part is satisfied.
"""

from datetime import datetime

from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action, Note, Refusal, Value


class Advance(Value, frozen=True):
    """The status moved; decide again from there."""

    status: RolloutStatus
    notes: tuple[Note, ...] = ()
    actions: tuple[Action, ...] = ()
    """Done before those of the turn that stops the pass."""


class Stop(Value, frozen=True):
    """Do these actions in order (perhaps none), then wait for an event, or for `wake_at`.

    `problem` is set when only a person can help; it becomes the Stalled condition.
    """

    status: RolloutStatus
    actions: tuple[Action, ...] = ()
    wake_at: datetime | None = None
    notes: tuple[Note, ...] = ()
    problem: Refusal | None = None


Turn = Advance | Stop
