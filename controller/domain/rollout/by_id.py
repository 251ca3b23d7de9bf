"""A release that changes no template: the owner gave a set of pods another `rollouts.kruise.io/rollout-id`.

Why: as in the original, a pipeline counts its releases by that id, and walks through steps, pauses and approvals with
it. Invariants: no pod is replaced and no traffic moves, as there is one revision only; a step gives its share of the
pods the new id and the number of its batch. A Deployment takes the same for a rollback, as in the original.
"""

from controller.api import names
from controller.api.workload_kinds import WorkloadKind
from controller.api.workloads import Pod
from controller.domain.pods.partition import ordinals
from controller.domain.rollout.situation import Situation


def asked_by_id(sit: Situation) -> bool:
    """Admission let a release in for the id alone, and every pod is of the present template already.

    The record names the template that ran before where the template was changed: one that was changed and changed back
    before anybody looked is no release.
    """
    if sit.workload.kind is WorkloadKind.DEPLOYMENT or not sit.meta.annotations.get(
        names.ROLLOUT_ID
    ):
        return False
    record = sit.owners
    changed = record is None or bool(record.stable_template)
    return not changed and bool(sit.running) and not sit.old_revision_runs


def stable_by_id(sit: Situation, stable: tuple[str, str]) -> tuple[str, str]:
    """The revision that runs is the stable one, also of a kind whose status does not name it."""
    return stable if stable[0] else (sit.present_revision, sit.template_hash)


def share_by_id(sit: Situation, index: int, rollout_id: str) -> tuple[Pod, ...]:
    """The pods that have, or get, the id in the steps up to this one: from the highest ordinal down."""
    alive = [pod for pod in sit.new_pods if not pod.metadata.deleting]

    def rank(pod: Pod) -> tuple[bool, int, str]:
        meta = pod.metadata
        labelled = meta.labels.get(names.ROLLOUT_ID) == rollout_id
        return not labelled, -max(ordinals([pod]), default=0), meta.name

    return tuple(sorted(alive, key=rank)[: sit.batch(index)])
