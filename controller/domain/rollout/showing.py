"""What clients read of the new revision: the name its kind gives it, and how many pods of it there are.

Why: `canaryRevision` of a set of pods is what `status.updateRevision` of the set says, so that the two can be compared;
what we compare is the hash of the template, kept beside it. Invariant: a name that is not known yet is empty, and one
that was known stays until another template comes.
"""

from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain.rollout.situation import Situation, canary_status, known_template
from controller.domain.rollout.status import with_canary, with_position


def revision_shown(sit: Situation, status: RolloutStatus) -> str:
    """What clients are told of the present template's revision."""
    if sit.kind is WorkloadKind.DEPLOYMENT:
        return sit.template_hash
    if sit.present_revision:
        return sit.present_revision
    same = known_template(status) == sit.template_hash
    return canary_status(status).canary_revision if same else ""


def about_this_template(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    """The status is about the workload's present template."""
    shown = revision_shown(sit, status)
    return with_canary(with_position(status, template=sit.template_hash), canary_revision=shown)


def counted(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    """The status with the pods of the new revision as they are now."""
    found = sit.ready(sit.new_pods)
    return with_canary(status, canary_replicas=found.pods, canary_ready_replicas=found.ready)


def names_filled_in(sit: Situation, status: RolloutStatus) -> RolloutStatus:
    """Between releases: names of revisions that were not known yet when the status was first written."""
    inner, present = canary_status(status), sit.present_revision
    if sit.kind is not WorkloadKind.DEPLOYMENT and inner.canary_revision != revision_shown(
        sit, status
    ):
        status = about_this_template(sit, status)
    return with_canary(
        status,
        stable_revision=inner.stable_revision or present,
        pod_template_hash=inner.pod_template_hash or present,
    )
