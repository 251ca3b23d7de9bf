"""The new revision in the status fields of clients: the name its kind gives it, and the number of its pods.

Why: `canaryRevision` of a set of pods equals `status.updateRevision` of the set, and of a Deployment the name that the
original's library computes, so that clients can compare them; our own comparison uses the template hash, kept in
another field. Invariant: a name that is not known yet is empty, and a known name stays until another template comes.
"""

from controller.api.workload_kinds import WorkloadKind
from controller.domain.rollout.words.release_context import known_template
from controller.domain.rollout.words.release_value import Release


def revision_shown(release: Release) -> str:
    """The name of the present template's revision for clients."""
    if release.kind is WorkloadKind.DEPLOYMENT:
        return release.template_name
    if release.present_revision:
        return release.present_revision
    same = known_template(release.status) == release.template_hash
    return release.shown.canary_revision if same else ""


def about_this_template(release: Release) -> Release:
    """The status is about the workload's present template."""
    shown = revision_shown(release)
    return release.noting(template=release.template_hash).showing(canary_revision=shown)


def counted(release: Release) -> Release:
    """The status with the present number of pods of the new revision, and with the name that these pods carry.

    A set's controller creates a deleted ControllerRevision again; until then the status knows that name.
    """
    revision = release.new_revision or release.shown.pod_template_hash
    found = release.ready(release.new_pods if release.new_revision else release.pods_of(revision))
    return release.showing(
        pod_template_hash=revision, canary_replicas=found.pods, canary_ready_replicas=found.ready
    )


def names_filled_in(release: Release) -> Release:
    """Between releases: names of revisions that were not known when the status was first written."""
    inner, present = release.shown, release.present_revision
    if inner.canary_revision != revision_shown(release):
        release = about_this_template(release)
    return release.showing(
        stable_revision=inner.stable_revision or present,
        pod_template_hash=inner.pod_template_hash or present,
    )
