"""Replaces new pods of a DaemonSet by stable ones, when more are new than any step of the release asked for.

A DaemonSet's controller creates every pod from the present template, whatever the strategy says: on a node that joins,
and on all nodes when the pods return. So the set gets its stable template for as long as it takes to replace the
surplus pods, frozen all the time, and then the release's own template again. Invariants: the status records a change of
the template before it is written, so that our own stable template is never taken for a rollback; no template is
exchanged where the ControllerRevision of either one might be lost.
"""

import msgspec

from controller.api.meta import Key
from controller.api.rollout import RolloutStatus
from controller.api.workloads import Pod
from controller.domain.decision import WriteTemplate
from controller.domain.observation import RevisionSeen
from controller.domain.pods.daemonset import most_unavailable
from controller.domain.pods.doubling import beyond
from controller.domain.pods.partition import moving_no_pod
from controller.domain.rollout.moving.from_zero import largest_visited_batch
from controller.domain.rollout.moving.sets import (
    alive_pods,
    deletion_of,
    owners_limits,
    owners_strategy,
)
from controller.domain.rollout.release_context import (
    ReleaseContext,
    known_template,
    moonshift_status,
)
from controller.domain.rollout.status import with_moonshift_status
from controller.domain.rollout.transition import Stop

STABLE = "stable"
"""Value of `template_exchange`: the set has, or will have after the next write, its stable template."""
RETURNED = "returned"
"""Value of `template_exchange`: the set has, or will have after the next write, the release's own template again."""


def too_many_are_new(context: ReleaseContext, status: RolloutStatus) -> bool:
    """More pods are new than any visited step asked for, and an exchange of templates is possible now."""
    impossible = (
        context.admission_paused or context.returning or not can_exchange_templates(context, status)
    )
    if impossible or not context.observed or len(alive_pods(context)) > context.replicas:
        return False
    new, _ = _kept_revisions(context, status)
    return bool(_surplus(context, status, new))


def can_exchange_templates(context: ReleaseContext, status: RolloutStatus) -> bool:
    """The release changes the template, and both templates are kept."""
    return not moonshift_status(status).by_id and None not in _kept_revisions(context, status)


def new_pods_are_there(context: ReleaseContext, status: RolloutStatus) -> bool:
    """Some pod is of the release's template."""
    new, _ = _kept_revisions(context, status)
    return new is not None and any(pod.revision == new.name for pod in alive_pods(context))


def begin_exchange(status: RolloutStatus) -> Stop:
    """Record that the stable template will be written; the next pass writes it."""
    return Stop(with_moonshift_status(status, template_exchange=STABLE))


def exchange(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """The next part of the exchange; None once the set has the release's own template again, or a third one."""
    ours = moonshift_status(status)
    new, stable = _kept_revisions(context, status)
    if ours.workload_uid != context.meta.uid:
        return None
    if context.template_hash == ours.stable_template:
        if not context.observed:
            return Stop(status)
        waiting = (
            _replace_surplus(context, status, new) if ours.template_exchange == STABLE else None
        )
        return waiting or template_restored(context, status)
    own = context.template_hash == known_template(status)
    if own and ours.template_exchange == STABLE and stable and _surplus(context, status, new):
        return Stop(status, (_written(context, stable),))
    return None


def template_restored(context: ReleaseContext, status: RolloutStatus) -> Stop | None:
    """Restore the release's own template; None when the set has it."""
    ours = moonshift_status(status)
    if not ours.template_exchange or context.template_hash != ours.stable_template:
        return None
    if ours.template_exchange != RETURNED:
        return Stop(with_moonshift_status(status, template_exchange=RETURNED))
    new, _ = _kept_revisions(context, status)
    return Stop(status, (_written(context, new),)) if new else None


def _kept_revisions(
    context: ReleaseContext, status: RolloutStatus
) -> tuple[RevisionSeen | None, RevisionSeen | None]:
    """The ControllerRevisions of the release's template and of the stable one; None each for a set that keeps none."""
    if context.pod_set.spec.revision_history_limit == 0:
        return None, None
    ours, known = moonshift_status(status), context.workload.revisions
    new = [found for found in known if found.template_hash == known_template(status)]
    stable = [found for found in known if found.name == ours.stable_revision]
    return (new[-1] if new else None, stable[-1] if stable else None)


def _surplus(context: ReleaseContext, status: RolloutStatus, new: RevisionSeen | None) -> list[Pod]:
    """The surplus new pods: unready ones first, then the youngest. At the end of a release, all of them."""
    if new is None:
        return []
    wanted = 0 if moonshift_status(status).goal else largest_visited_batch(context, status)
    found = [pod for pod in alive_pods(context) if pod.revision == new.name]
    return beyond(wanted, found)[::-1]


def _replace_surplus(
    context: ReleaseContext, status: RolloutStatus, new: RevisionSeen | None
) -> Stop | None:
    """Delete the surplus pods, the ready ones within the owner's maxUnavailable; None once a stable pod has replaced
    each.
    """
    rolling = owners_limits(context).rolling_update
    limit = most_unavailable(
        rolling.max_unavailable if rolling is not None else None, context.replicas
    )
    alive = alive_pods(context)
    leaving = len(context.workload.pods) - len(alive)
    surplus = _surplus(context, status, new)
    missing = max(leaving, context.replicas - len(alive))
    unready = sum(1 for pod in alive if pod.ready_since is None and pod not in surplus)
    room = limit - unready - missing
    going: list[Pod] = []
    for pod in surplus:
        if pod.ready_since is not None:
            if room <= 0:
                continue
            room -= 1
        going.append(pod)
    deleted = tuple(map(deletion_of, going))
    counted = context.ready(alive)
    if not surplus and not missing:
        return None
    return Stop(status, deleted, wake_at=counted.next_at)


def _written(context: ReleaseContext, kept: RevisionSeen) -> WriteTemplate:
    strategy = moving_no_pod(context.workload.kind, owners_strategy(context))
    return WriteTemplate(
        kind=context.kind_name,
        workload=context.workload_key,
        generation=context.meta.generation,
        source=Key(context.namespace, kept.object),
        strategy=msgspec.Raw(msgspec.json.encode(strategy)),
    )
