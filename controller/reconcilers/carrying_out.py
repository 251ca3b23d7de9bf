"""Carries out the actions of a decision, about a Rollout or a TrafficRouting, and says when to look again.

Invariant: in order, up to the first that is not yet done; whatever holds an action, the time at which the decision
wants the next look is never forgotten.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from controller.api.meta import ObjectMeta
from controller.domain.decision import Action, Decided, Done, NotYet, Refusal, stands_alone
from controller.effects.apply import Effects
from controller.reconcilers.retries import RefusalWaits

D = TypeVar("D", bound=Decided[Any])


async def carry_out(
    decision: D,
    effects: Effects,
    refused: Callable[[D, Refusal, tuple[Action, ...]], D],
    waits: RefusalWaits,
    meta: ObjectMeta,
    now: datetime,
) -> tuple[D, float | None]:
    """The decision after its actions, and the seconds until the next look.

    `refused` makes the decision after a refusal, which leaves these actions undone.
    """
    wake_after: float | None = None
    refusal: Refusal | None = None
    for number, action in enumerate(decision.actions):
        match await effects.apply(action):
            case Done():
                continue
            case NotYet(wake_after=after):
                wake_after = earlier(wake_after, after)
                break
            case Refusal() as refusal:
                undone = () if stands_alone(action) else decision.actions[number:]
                decision = refused(decision, refusal, undone)
                again = waits.next(meta.key, meta.generation, refusal)
                wake_after = earlier(wake_after, again)
                if undone:
                    break
    else:
        if refusal is None:
            waits.forget(meta.key)
    if decision.wake_at is not None:
        wake_after = earlier(wake_after, max(0.0, (decision.wake_at - now).total_seconds()))
    return decision, wake_after


def earlier(left: float | None, right: float | None) -> float | None:
    """The earlier of two waits."""
    times = [time for time in (left, right) if time is not None]
    return min(times, default=None)
