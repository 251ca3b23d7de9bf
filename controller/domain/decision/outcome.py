"""The possible outcomes of an effect.

Invariant: `Done` only lets the next action start; whether the fact holds is judged by the next observation.
"""

from controller.domain.decision.value import Value
from controller.errors import Right


class Done(Value, frozen=True):
    """The write was accepted, or nothing had to be written; the next action may start."""

    wrote: bool = False


class NotYet(Value, frozen=True):
    """Something must be seen first; an event or `wake_after` seconds will bring us back."""

    reason: str
    wake_after: float | None = None


class Refusal(Value, frozen=True):
    """It cannot be done as things are: a person has to change something.

    `reason` is a CamelCase word for conditions and events; `object` names the object, `script` and `line` the place
    in a script. `retry_after` is when to try again without any change seen (None: only a change brings us back).
    `right` is what the API server refused: the Rollout is woken when that may be otherwise.
    """

    reason: str
    message: str
    object: str = ""
    script: str = ""
    line: int = 0
    retry_after: float | None = None
    right: Right | None = None
