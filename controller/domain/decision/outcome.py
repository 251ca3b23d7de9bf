"""The possible outcomes of an effect.

Invariant: `Done` only lets the next action start; whether the fact holds is judged by the next observation.
"""

from controller.domain.decision.value import Value
from controller.errors import Right


class Done(Value, frozen=True):
    """The write was accepted, or nothing had to be written; the next action may start."""

    wrote: bool = False


class NotYet(Value, frozen=True):
    """Something must be seen first; the next pass comes with an event, or after `wake_after` seconds."""

    reason: str
    wake_after: float | None = None


class Refusal(Value, frozen=True):
    """The action cannot be carried out: a person has to change something.

    `reason` is a CamelCase word for conditions and events; `object` names the object, `script` and `line` the place
    in a script. `retry_after` is the time after which the action is tried again (None: only after a change).
    `once_moved` is the message for a time when the Rollout's references cannot be changed any more (empty: the same).
    `right` is the right that the API server refused: the Rollout is woken when it may have been granted.
    """

    reason: str
    message: str
    object: str = ""
    script: str = ""
    line: int = 0
    retry_after: float | None = None
    right: Right | None = None
    once_moved: str = ""
