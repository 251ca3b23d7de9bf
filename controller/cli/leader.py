"""Whether a controller is at work at all: what no status of a Rollout can say of itself.

Why: without a controller a release stands still and its status keeps the last sentence, which then sends people to look
at pods and routes. Invariant: only a Lease that somebody held and gave up renewing is called abandoned; no Lease, or no
right to read it, says nothing of a controller (leader election may be off, or the controller live elsewhere). Who may
not read it is told so where an answer was waited for in vain.
"""

from datetime import datetime, timedelta

from controller.api.names import DEFAULT_NAMESPACE, LEASE
from controller.cli.failures import explain
from controller.cli.render.words import span
from controller.errors import MoonshiftError
from controller.kube.client import KubeClient
from controller.kube.lease import KubeLeaseStore
from controller.runtime.leader import LeaseRecord

PATIENCE = timedelta(seconds=30)
"""Beyond twice the Lease's duration, so that a change of leader and unequal clocks are no alarm."""


async def nobody_at_work(client: KubeClient, now: datetime) -> str:
    """Why nothing will move; empty when a controller is at work, or when that cannot be known. Raises nothing."""
    try:
        lease = await KubeLeaseStore(client, DEFAULT_NAMESPACE, LEASE).read()
    except MoonshiftError:
        return ""
    return abandoned(lease, now)


async def why_unanswered(client: KubeClient, now: datetime) -> str:
    """For whoever waited for a controller in vain: what can be known of one, or why it cannot. Raises nothing."""
    try:
        lease = await KubeLeaseStore(client, DEFAULT_NAMESPACE, LEASE).read()
    except MoonshiftError as failure:
        return f"whether a controller is at work cannot be seen ({explain(failure)})"
    if lease is None:
        return (
            f"no Lease {DEFAULT_NAMESPACE}/{LEASE} is there: look whether a controller is installed"
        )
    return abandoned(lease, now) or "a controller renews its Lease: moonshift why may say more"


def abandoned(lease: LeaseRecord | None, now: datetime) -> str:
    """The sentence about a Lease that is not renewed any more; empty otherwise."""
    if lease is None or lease.renewed_at is None:
        return ""
    silent = now - lease.renewed_at
    if silent < max(PATIENCE, timedelta(seconds=2 * lease.duration)):
        return ""
    return (
        f"no controller is at work: the Lease {DEFAULT_NAMESPACE}/{LEASE} was renewed {span(silent)} ago for the last "
        f"time; look at the pods of namespace {DEFAULT_NAMESPACE}"
    )
