"""Whether a controller is at work at all, which the status of a Rollout cannot show.

Why: without a controller a release makes no progress and its status keeps the last message, so people look for the
cause in pods and routes. Invariant: only a Lease whose holder stopped renewing it counts as abandoned; a missing Lease,
or a missing right to read it, proves nothing (leader election may be off, or the controller may run elsewhere). A
person without that right gets a message, but only for a release that seems to make no progress: most people lack the
right, and need no message about a release that moves.
"""

from datetime import datetime, timedelta

from controller.api.names import DEFAULT_NAMESPACE, LEASE
from controller.api.rollout import Phase, Rollout
from controller.cli.durations import span
from controller.cli.failures import explain
from controller.cli.views.look import since_when
from controller.cli.views.waiting import at_zero, awaits_approval, pause_of
from controller.domain.shards import shard_of, shards_counted
from controller.errors import Forbidden, MoonshiftError
from controller.kube.client import KubeClient
from controller.kube.lease import KubeLeaseStore
from controller.runtime.leader import LeaseRecord

SILENCE_TOLERATED = timedelta(seconds=30)
"""Beyond twice the Lease's duration, so that a change of leader and unequal clocks are no alarm."""

_UNDER_WAY = (Phase.PROGRESSING, Phase.DISABLING, Phase.TERMINATING)
NOT_KNOWN = f"you may not read the Lease {DEFAULT_NAMESPACE}/{LEASE}, so whether a controller is at work is not known"


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


async def nobody_at_work(client: KubeClient, namespace: str, now: datetime, *, waited: bool) -> str:
    """Why no release of a namespace will move; empty when a controller is at work, or when that cannot be known.

    With `waited`, a person who may not read the Lease gets a message that it is not known. Raises nothing.
    """
    try:
        name, lease = await _lease_of(client, namespace)
    except Forbidden:
        return NOT_KNOWN if waited else ""
    except MoonshiftError:
        return ""
    return abandoned(lease, now, name)


async def why_unanswered(client: KubeClient, namespace: str, now: datetime) -> str:
    """The sentence for a command that waited in vain: the leader, or why it is not known. Raises nothing."""
    try:
        name, lease = await _lease_of(client, namespace)
    except Forbidden as denied:
        return f"{NOT_KNOWN} ({explain(denied)})"
    except MoonshiftError as failure:
        return f"whether a controller is at work cannot be seen ({explain(failure)})"
    if lease is None:
        return (
            f"no Lease {DEFAULT_NAMESPACE}/{name} is there: look whether a controller is installed"
        )
    return (
        abandoned(lease, now, name) or "a controller renews its Lease: moonshift why may say more"
    )


async def _lease_of(client: KubeClient, namespace: str) -> tuple[str, LeaseRecord | None]:
    """The Lease of a namespace's controller: the leader's, or that of its shard if it has a holder.

    If nobody has held the Lease of the shard, or its holder released it, the common Lease decides.
    """
    common = await KubeLeaseStore(client, DEFAULT_NAMESPACE, LEASE).read()
    shards = shards_counted(common.holder) if common else 1
    if shards == 1:
        return LEASE, common
    name = f"{LEASE}-{shard_of(namespace, shards)}"
    own = await KubeLeaseStore(client, DEFAULT_NAMESPACE, name).read()
    return (name, own) if own is not None else (LEASE, common)


def abandoned(lease: LeaseRecord | None, now: datetime, name: str = LEASE) -> str:
    """The sentence about a Lease that is not renewed any more; empty otherwise."""
    if lease is None or lease.renewed_at is None:
        return ""
    silent = now - lease.renewed_at
    if silent < max(SILENCE_TOLERATED, timedelta(seconds=2 * lease.duration)):
        return ""
    return (
        f"no controller is at work: the Lease {DEFAULT_NAMESPACE}/{name} was renewed {span(silent)} ago for the last "
        f"time; look at the pods of namespace {DEFAULT_NAMESPACE}"
    )
