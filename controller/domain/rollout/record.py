"""Writing a release down when it is over, however it ended.

Invariant: decided in the pass that ends the release, before its position is wiped; a record that cannot be written
holds nothing up.
"""

import msgspec

from controller.api.rollout import RolloutStatus
from controller.domain.decision import Action, RecordRelease
from controller.domain.history import Outcome, Release, history_of
from controller.domain.rollout.situation import Situation, canary_status, position


def recorded(sit: Situation, status: RolloutStatus, outcome: Outcome) -> tuple[Action, ...]:
    """The record of the release that `status` is about; nothing where none is kept, or none was under way."""
    keep = sit.seen.histories_kept
    inner = canary_status(status)
    if keep <= 0 or not position(status).visits:
        return ()
    release = Release(
        rollout=sit.seen.rollout,
        ours=position(status),
        rollout_id=inner.observed_rollout_id,
        revision=position(status).revision,
        steps=sit.steps,
        outcome=outcome,
        now=sit.now,
        workload=_workload(sit, outcome),
        pods=sit.promoted_pods if sit.seen.workload is not None else (),
        routes=sit.seen.routes,
        services=_services(sit),
    )
    return (RecordRelease(history_of(release), keep),)


def _workload(sit: Situation, outcome: Outcome) -> msgspec.Raw | None:
    """The workload's spec, where it is still that of the release."""
    if sit.seen.workload is None or outcome is Outcome.SUPERSEDED:
        return None
    return msgspec.Raw(msgspec.json.encode(sit.workload.object.spec))


def _services(sit: Situation) -> tuple[tuple[str, msgspec.Raw], ...]:
    return tuple(
        (name, msgspec.Raw(msgspec.json.encode(found.spec)))
        for name in sit.stable_services
        if (found := sit.service(name)) is not None
    )
