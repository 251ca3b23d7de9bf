"""A release that changes no template: the owner gave a set of pods another `rollouts.kruise.io/rollout-id`.

As an annotation the id is enough; as a label it needs the mark `in-progressing`, which the client writes itself.

Why: as in the original, a pipeline counts its releases by this id, and uses it for steps, pauses and approvals.
Invariants: no pod is replaced and no traffic moves, because there is only one revision; a step gives its share of the
pods the new id and the number of its batch. For a Deployment the same request is a rollback, as in the original.
"""

from controller.api import names
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain.pods.partition import ordinals
from controller.domain.rollout.words.release_value import Release


def asked_by_id(release: Release) -> bool:
    """Admission started a release because of the id alone, and every pod is of the present template already.

    Where the template was changed, the record names the earlier template. A template that was changed and changed back
    before the controller saw it is no release.
    """
    given = release.meta.annotations.get(names.ROLLOUT_ID) or release.meta.labels.get(
        names.ROLLOUT_ID
    )
    if release.workload.kind is WorkloadKind.DEPLOYMENT or not given:
        return False
    record = release.owners
    changed = record is None or bool(record.stable_template)
    return not changed and bool(release.running) and not release.old_revision_runs


def stable_by_id(release: Release, stable: tuple[str, str]) -> tuple[str, str]:
    """The running revision is the stable one, also for a kind whose status does not name it."""
    return stable if stable[0] else (release.present_revision, release.template_hash)


def share_by_id(release: Release, index: int, rollout_id: str) -> tuple[Pod, ...]:
    """The pods that have, or get, the id in the steps up to this one, starting with the highest ordinal."""
    alive = [pod for pod in release.new_pods if not pod.metadata.deleting]

    def rank(pod: Pod) -> tuple[bool, int, str]:
        meta = pod.metadata
        labelled = meta.labels.get(names.ROLLOUT_ID) == rollout_id
        return not labelled, -max(ordinals([pod]), default=0), meta.name

    return tuple(sorted(alive, key=rank)[: release.batch(index)])
