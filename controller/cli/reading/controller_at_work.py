"""Whether a controller is at work at all, which the status of a Rollout cannot show.

Why: without a controller a release makes no progress and its status keeps the last message, so people look for the
cause in pods and routes. Invariant: only a Lease whose holder stopped renewing it counts as abandoned; a missing Lease,
or a missing right to read it, proves nothing (leader election may be off, or the controller may run elsewhere). A
person without that right gets a message, but only for a release that seems to make no progress: most people lack the
right, and need no message about a release that moves.
"""

from datetime import datetime, timedelta
from typing import assert_never

import msgspec

from controller.api.names import DEFAULT_NAMESPACE, LEASE
from controller.api.rollout import Phase, Rollout
from controller.cli.durations import span
from controller.cli.failures import explain
from controller.cli.reading.home import announced_namespace
from controller.cli.reading.session import Session
from controller.cli.views.look import since_when
from controller.cli.views.waiting import at_zero, pause_of
from controller.domain.rollout.approvals.pause import awaits_approval
from controller.domain.shards import shard_of, shards_counted
from controller.errors import Forbidden, MoonshiftError
from controller.kube.lease import KubeLeaseStore
from controller.runtime.leader import LeaseRecord

SILENCE_TOLERATED = timedelta(seconds=30)
"""Beyond twice the Lease's duration, so that a change of leader and unequal clocks are no alarm."""

_UNDER_WAY = (Phase.PROGRESSING, Phase.DISABLING, Phase.TERMINATING)


def seems_to_stand_still(rollout: Rollout, now: datetime) -> bool:
    """The release waits for a controller, and its status has not changed for a while."""
    status, since = rollout.status, since_when(rollout)
    if since is None:
        return False
    if status.phase and rollout.metadata.generation <= status.observed_generation:
        if status.phase not in _UNDER_WAY or at_zero(status):
            return False
        if awaits_approval(rollout):
            return False
        if rollout.spec.strategy.paused and status.phase == Phase.PROGRESSING:
            return False
        since += pause_of(rollout)
    return now - since >= SILENCE_TOLERATED


class ControllerAbsence(msgspec.Struct, frozen=True):
    """Why no release will move; `text` is empty if a controller is at work, or if that cannot be known."""

    text: str = ""
    lease_readable: bool = True
    """False: the text says that the Lease may not be read."""
    namespace: str = DEFAULT_NAMESPACE
    """Of the controller."""


class LeaderLease(msgspec.Struct, frozen=True):
    """The Lease that shows whether a controller is at work; `record` is None if there is none."""

    namespace: str
    name: str
    record: LeaseRecord | None


class _Denied(msgspec.Struct, frozen=True):
    """The person may not read the Leases of this namespace."""

    namespace: str
    failure: Forbidden

    @property
    def text(self) -> str:
        """The sentence for the person."""
        return f"you may not read the Lease {self.namespace}/{LEASE}, so whether a controller is at work is not known"


async def nobody_at_work(session: Session, now: datetime, *, waited: bool) -> ControllerAbsence:
    """Why no release of the session's namespace will move.

    With `waited`, a person who may not read the Lease gets a message that it is not known. Raises nothing.
    """
    try:
        found = await _deciding_lease(session, now)
    except MoonshiftError:
        return ControllerAbsence()
    match found:
        case _Denied():
            return ControllerAbsence(found.text if waited else "", False, found.namespace)
        case LeaderLease():
            return ControllerAbsence(abandoned(found, now), True, found.namespace)
        case _:
            assert_never(found)


async def why_unanswered(session: Session, now: datetime) -> str:
    """The sentence for a command that waited in vain: the leader, or why it is not known. Raises nothing."""
    try:
        found = await _deciding_lease(session, now)
    except MoonshiftError as failure:
        return f"whether a controller is at work cannot be seen ({explain(failure)})"
    if isinstance(found, _Denied):
        return f"{found.text} ({explain(found.failure)})"
    if found.record is None:
        lease = f"{found.namespace}/{found.name}"
        return f"no Lease {lease} is there: look whether a controller is installed"
    return abandoned(found, now) or "a controller renews its Lease: moonshift why may say more"


async def _deciding_lease(session: Session, now: datetime) -> LeaderLease | _Denied:
    """The Lease in the namespace that the person named; else in the default one, and if no controller renews it there,
    in the namespace that the CRD names.
    """
    given = session.controller_namespace
    found = await _lease_in(session, given or DEFAULT_NAMESPACE)
    if given or (isinstance(found, LeaderLease) and found.record and not abandoned(found, now)):
        return found
    announced = await announced_namespace(session.client)
    return found if announced == DEFAULT_NAMESPACE else await _lease_in(session, announced)


async def _lease_in(session: Session, home: str) -> LeaderLease | _Denied:
    """The Lease of the controller of the session's namespace: the leader's, or that of its shard if it has a holder.

    If nobody has held the Lease of the shard, or its holder released it, the common Lease decides.
    """
    try:
        common = await KubeLeaseStore(session.client, home, LEASE).read()
        shards = shards_counted(common.holder) if common else 1
        if shards == 1:
            return LeaderLease(home, LEASE, common)
        name = f"{LEASE}-{shard_of(session.namespace, shards)}"
        own = await KubeLeaseStore(session.client, home, name).read()
    except Forbidden as denied:
        return _Denied(home, denied)
    return LeaderLease(home, name, own) if own is not None else LeaderLease(home, LEASE, common)


def abandoned(lease: LeaderLease, now: datetime) -> str:
    """The sentence about a Lease that is not renewed any more; empty otherwise."""
    record = lease.record
    if record is None or record.renewed_at is None:
        return ""
    silent = now - record.renewed_at
    if silent < max(SILENCE_TOLERATED, timedelta(seconds=2 * record.duration)):
        return ""
    return (
        f"no controller is at work: the Lease {lease.namespace}/{lease.name} was renewed {span(silent)} ago for the "
        f"last time; look at the pods of namespace {lease.namespace}"
    )
