"""Pods of an abandoned revision in a set of pods: deleted before another revision gets its first pods.

Why: a CloneSet chooses freely which pods a step updates, so abandoned pods left alone could cost every stable pod. All
of them were deleted at once: a third revision at a step of 80 % left two of ten pods. And a StatefulSet kept its
abandoned pods while the routes led all traffic to the two stable ones. Instead, abandoned pods are deleted within the
owner's maxUnavailable, and the set's own controller creates stable ones in their place.
Invariants: a pod is deleted only where the set creates a pod of the stable revision instead; if stable pods do not
become ready within the deadline, nothing waits for them any more.
"""

from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain.pods.partition import ordinals
from controller.domain.pods.running import name_on_pods
from controller.domain.rollout.moving.awaiting_stable import stable_is_awaited_until
from controller.domain.rollout.moving.sets import (
    alive_pods,
    blocked_set,
    deletion_of,
    live_strategy,
    make_way,
    most_unavailable_pods,
)
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop

RECREATED_AS_STABLE = (WorkloadKind.CLONE_SET, WorkloadKind.STATEFUL_SET)
"""Kinds whose controller replaces a deleted pod by one of its current revision, if the partition says so."""


def clear_abandoned_pods(release: Release) -> Stop | None:
    """Delete the abandoned pods that block another revision; None when they are gone."""
    by_exchange = release.kind is WorkloadKind.CLONE_SET
    replaced = replace_abandoned_pods(release) if by_exchange else None
    return replaced or make_way(release)


def replace_abandoned_pods(release: Release, *, enough: int = 0) -> Stop | None:
    """Delete as many ready abandoned pods as the owner allows, and wait for the stable pods in their place.

    None if no pod is abandoned and `enough` stable ones are ready, no stable pod would replace an abandoned one, the
    owner paused the set, or the deadline is over.
    """
    blocked = blocked_set(release)
    if blocked is not None:
        return blocked if blocked.problem is None else None
    stable = release.ours.stable_revision
    left = _abandoned(release, stable)
    due = stable_is_awaited_until(release)
    stable_pods = release.ready(release.pods_of(stable))
    nothing_left = not left and stable_pods.ready >= enough
    if nothing_left or not _recreates(release, stable) or due <= release.now:
        return None
    ready = release.ready(alive_pods(release))
    spare = ready.ready - (release.replicas - max(1, most_unavailable_pods(release)))
    going = [pod for pod in left if pod.ready_since is None]
    going += [pod for pod in left if pod.ready_since is not None][: max(0, spare)]
    return release.stop(*tuple(map(deletion_of, going)), wake_at=min(ready.next_at or due, due))


def _recreates(release: Release, stable: str) -> bool:
    """The set's controller replaces a deleted pod by one of the stable revision, which has shown that its pods start.

    A pod that cannot start would block a StatefulSet for ever.
    """
    current = name_on_pods(release.workload.kind, release.pod_set.status.current_revision)
    by_partition = live_strategy(release).get("type") != "OnDelete"
    starts = any(pod.ready_since is not None for pod in release.pods_of(stable))
    known = release.kind in RECREATED_AS_STABLE and by_partition
    return known and current == stable and starts


def _abandoned(release: Release, stable: str) -> list[Pod]:
    """Pods that are neither stable nor new; of a StatefulSet the lowest ordinals first, because the next steps replace
    the highest ones.
    """
    keep = (stable, release.new_revision)
    left = [
        pod for pod in alive_pods(release) if pod.revision not in keep and not pod.updated_in_place
    ]
    return sorted(left, key=lambda pod: (min(ordinals([pod]), default=0), pod.metadata.name))
