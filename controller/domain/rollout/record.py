"""Writes the record of a release when it is over, however it ended.

Invariant: decided in the pass that ends the release, before its status is reset; a record that cannot be written delays
nothing.
"""

import msgspec

from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action, RecordRelease
from controller.domain.history import FinishedRelease, Outcome, history_of
from controller.domain.rollout.release_context import (
    ReleaseContext,
    canary_status,
    moonshift_status,
)


def recorded(
    context: ReleaseContext, status: RolloutStatus, outcome: Outcome
) -> tuple[Action, ...]:
    """The record of the release that `status` is about; nothing if records are not kept, or no release was under
    way.
    """
    keep = context.seen.histories_kept
    inner = canary_status(status)
    if keep <= 0 or not moonshift_status(status).visits:
        return ()
    finished = FinishedRelease(
        rollout=context.seen.rollout,
        ours=moonshift_status(status),
        rollout_id=inner.observed_rollout_id,
        revision=moonshift_status(status).revision,
        steps=context.steps,
        outcome=outcome,
        now=context.now,
        workload=_workload(context, outcome),
        pods=context.promoted_pods if context.seen.workload is not None else (),
        routes=context.seen.routes,
        services=_services(context),
    )
    return (RecordRelease(history_of(finished), keep),)


def _workload(context: ReleaseContext, outcome: Outcome) -> msgspec.Raw | None:
    """The workload's spec, if it is still the spec of the release."""
    if context.seen.workload is None or outcome is Outcome.SUPERSEDED:
        return None
    return msgspec.Raw(msgspec.json.encode(context.workload.object.spec))


def _services(context: ReleaseContext) -> tuple[tuple[str, msgspec.Raw], ...]:
    return tuple(
        (name, msgspec.Raw(msgspec.json.encode(found.spec)))
        for name in context.stable_services
        if (found := context.service(name)) is not None
    )
