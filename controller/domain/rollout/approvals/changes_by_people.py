"""Distinguishes changes of a Rollout by people from writes of our own passes: a person waits for the answering pass.

Why by content: the watch often shows a write of ours before its answer has arrived, so its version is not known yet.
Invariants: no pass writes a request by itself; the beginning of a release does not count, because a crowd of releases
consists of beginnings. A wrong result costs only a place in the queue. It must decide nothing.
"""

from typing import NamedTuple

from controller.api.meta import ObjectMeta
from controller.api.names import ADMISSION_PAUSE, PLAN_HASH
from controller.api.rollout import Approval, MoonshiftStatus, Phase, Rollout, RolloutStatus
from controller.domain.rollout.approvals.jump import NONE_FOLLOWS


class Requests(NamedTuple):
    """The fields into which people write requests; a field is empty if it agrees with our own state."""

    approval: Approval | None = None
    jump: int = 0
    state: str = ""
    step: int = 0
    next_step: int = 0


NO_REQUESTS = Requests()


def somebody_changed(before: Rollout | None, after: Rollout) -> bool:
    """A person, or a client for a person, changed this Rollout."""
    if before is None:
        return has_request(after.status)
    return _request_arrived(before.status, after.status) or _edited(before, after)


def has_request(status: RolloutStatus) -> bool:
    """The status has an approval or a jump that no pass has answered."""
    return requests_of(status) != NO_REQUESTS


def requests_of(status: RolloutStatus) -> Requests:
    """The requests that no pass has answered."""
    ours, shown = status.moonshift, status.of_release
    if not isinstance(ours, MoonshiftStatus) or shown is None or status.phase != Phase.PROGRESSING:
        return NO_REQUESTS
    follows = shown.next_step_index in (ours.step + 1, NONE_FOLLOWS, 0)
    return Requests(
        approval=ours.approval,
        jump=ours.jump,
        state="" if shown.current_step_state == ours.state else shown.current_step_state,
        step=0 if shown.current_step_index == ours.step else shown.current_step_index,
        next_step=0 if follows else shown.next_step_index,
    )


def _request_arrived(before: RolloutStatus, after: RolloutStatus) -> bool:
    """A field has a new request.

    Each field is compared by itself: a request may wait for long (the Rollout is paused), every status that is written
    meanwhile contains the request, and a pass may answer only one of two requests.
    """
    fields = zip(requests_of(before), requests_of(after), NO_REQUESTS, strict=True)
    return any(new not in (old, empty) for old, new, empty in fields)


def changed_in_release(rollout: Rollout, workload: ObjectMeta) -> bool:
    """Admission holds another template of a workload that is under release already: a rollback, or a third revision."""
    asked, ours = workload.annotations.get(ADMISSION_PAUSE, ""), rollout.status.moonshift
    known = ours.release if isinstance(ours, MoonshiftStatus) else ""
    return bool(asked) and asked != known and rollout.status.phase == Phase.PROGRESSING


def _edited(before: Rollout, after: Rollout) -> bool:
    """The plan, an annotation, or the request for deletion changed."""
    old, new = before.metadata, after.metadata
    if old.generation != new.generation or old.deleting != new.deleting:
        return True
    return _without_ours(old) != _without_ours(new)


def _without_ours(metadata: ObjectMeta) -> dict[str, str]:
    return {name: value for name, value in metadata.annotations.items() if name != PLAN_HASH}
