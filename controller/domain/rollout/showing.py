"""The new revision in the status fields of clients: the name its kind gives it, and the number of its pods.

Why: `canaryRevision` of a set of pods equals `status.updateRevision` of the set, and of a Deployment the name that the
original's library computes, so that clients can compare them; our own comparison uses the template hash, kept in
another field. Invariant: a name that is not known yet is empty, and a known name stays until another template comes.
"""

from controller.api.rollout import RolloutStatus
from controller.api.workload_kinds import WorkloadKind
from controller.domain.rollout.release_context import ReleaseContext, canary_status, known_template
from controller.domain.rollout.status import with_canary, with_moonshift_status


def revision_shown(context: ReleaseContext, status: RolloutStatus) -> str:
    """The name of the present template's revision for clients."""
    if context.kind is WorkloadKind.DEPLOYMENT:
        return context.template_name
    if context.present_revision:
        return context.present_revision
    same = known_template(status) == context.template_hash
    return canary_status(status).canary_revision if same else ""


def about_this_template(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    """The status is about the workload's present template."""
    shown = revision_shown(context, status)
    return with_canary(
        with_moonshift_status(status, template=context.template_hash), canary_revision=shown
    )


def counted(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    """The status with the present number of pods of the new revision, and with the name that these pods carry.

    A set's controller creates a deleted ControllerRevision again; until then the status knows that name.
    """
    revision = context.new_revision or canary_status(status).pod_template_hash
    found = context.ready(context.new_pods if context.new_revision else context.pods_of(revision))
    return with_canary(
        status,
        pod_template_hash=revision,
        canary_replicas=found.pods,
        canary_ready_replicas=found.ready,
    )


def names_filled_in(context: ReleaseContext, status: RolloutStatus) -> RolloutStatus:
    """Between releases: names of revisions that were not known when the status was first written."""
    inner, present = canary_status(status), context.present_revision
    if inner.canary_revision != revision_shown(context, status):
        status = about_this_template(context, status)
    return with_canary(
        status,
        stable_revision=inner.stable_revision or present,
        pod_template_hash=inner.pod_template_hash or present,
    )
