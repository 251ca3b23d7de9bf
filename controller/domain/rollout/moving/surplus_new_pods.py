"""Replaces new pods of a DaemonSet by stable ones, when more are new than any step of the release asked for.

A DaemonSet's controller creates every pod from the present template, whatever the strategy says: on a node that joins,
and on all nodes when the pods return. So the set gets its stable template for as long as it takes to replace the
surplus pods, frozen all the time, and then the release's own template again. Invariants: the status records a change of
the template before it is written, so that our own stable template is never taken for a rollback; no template is
exchanged where the ControllerRevision of either one might be lost.
"""

import msgspec

from controller.api.meta import Key
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
from controller.domain.rollout.words.release_context import known_template
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop

STABLE = "stable"
"""Value of `template_exchange`: the set has, or will have after the next write, its stable template."""
RETURNED = "returned"
"""Value of `template_exchange`: the set has, or will have after the next write, the release's own template again."""


def too_many_are_new(release: Release) -> bool:
    """More pods are new than any visited step asked for, and an exchange of templates is possible now."""
    impossible = (
        release.admission_paused or release.ours.returning or not can_exchange_templates(release)
    )
    if impossible or not release.observed or len(alive_pods(release)) > release.replicas:
        return False
    new, _ = _kept_revisions(release)
    return bool(_surplus(release, new))


def can_exchange_templates(release: Release) -> bool:
    """The release changes the template, and both templates are kept."""
    return not release.ours.by_id and None not in _kept_revisions(release)


def new_pods_are_there(release: Release) -> bool:
    """Some pod is of the release's template."""
    new, _ = _kept_revisions(release)
    return new is not None and any(pod.revision == new.name for pod in alive_pods(release))


def begin_exchange(release: Release) -> Stop:
    """Record that the stable template will be written; the next pass writes it."""
    return release.noting(template_exchange=STABLE).stop()


def exchange(release: Release) -> Stop | None:
    """The next part of the exchange; None once the set has the release's own template again, or a third one."""
    ours = release.ours
    new, stable = _kept_revisions(release)
    if ours.workload_uid != release.meta.uid:
        return None
    if release.template_hash == ours.stable_template:
        if not release.observed:
            return release.stop()
        waiting = _replace_surplus(release, new) if ours.template_exchange == STABLE else None
        return waiting or template_restored(release)
    own = release.template_hash == known_template(release.status)
    if own and ours.template_exchange == STABLE and stable and _surplus(release, new):
        return release.stop(_written(release, stable))
    return None


def template_restored(release: Release) -> Stop | None:
    """Restore the release's own template; None when the set has it."""
    ours = release.ours
    if not ours.template_exchange or release.template_hash != ours.stable_template:
        return None
    if ours.template_exchange != RETURNED:
        return release.noting(template_exchange=RETURNED).stop()
    new, _ = _kept_revisions(release)
    return release.stop(_written(release, new)) if new else None


def _kept_revisions(release: Release) -> tuple[RevisionSeen | None, RevisionSeen | None]:
    """The ControllerRevisions of the release's template and of the stable one; None each for a set that keeps none."""
    if release.pod_set.spec.revision_history_limit == 0:
        return None, None
    ours, known = release.ours, release.workload.revisions
    new = [found for found in known if found.template_hash == known_template(release.status)]
    stable = [found for found in known if found.name == ours.stable_revision]
    return (new[-1] if new else None, stable[-1] if stable else None)


def _surplus(release: Release, new: RevisionSeen | None) -> list[Pod]:
    """The surplus new pods: unready ones first, then the youngest. At the end of a release, all of them."""
    if new is None:
        return []
    wanted = 0 if release.ours.goal else largest_visited_batch(release)
    found = [pod for pod in alive_pods(release) if pod.revision == new.name]
    return beyond(wanted, found)[::-1]


def _replace_surplus(release: Release, new: RevisionSeen | None) -> Stop | None:
    """Delete the surplus pods, the ready ones within the owner's maxUnavailable; None once a stable pod has replaced
    each.
    """
    rolling = owners_limits(release).rolling_update
    limit = most_unavailable(
        rolling.max_unavailable if rolling is not None else None, release.replicas
    )
    alive = alive_pods(release)
    leaving = len(release.workload.pods) - len(alive)
    surplus = _surplus(release, new)
    missing = max(leaving, release.replicas - len(alive))
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
    counted = release.ready(alive)
    if not surplus and not missing:
        return None
    return release.stop(*deleted, wake_at=counted.next_at)


def _written(release: Release, kept: RevisionSeen) -> WriteTemplate:
    strategy = moving_no_pod(release.workload.kind, owners_strategy(release))
    return WriteTemplate(
        kind=release.kind_name,
        workload=release.workload_key,
        generation=release.meta.generation,
        source=Key(release.namespace, kept.object),
        strategy=msgspec.Raw(msgspec.json.encode(strategy)),
    )
