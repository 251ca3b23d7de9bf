"""The common part of the three mechanisms for a native Deployment: restoring its owner's own values.

Invariant: the owner's values and our marks change in one write.
"""

from controller.api import names
from controller.api.workload_kinds import KNOWN_WORKLOADS
from controller.domain import reasons
from controller.domain.decision import Action, Refusal, ReleaseDeployment
from controller.domain.pods.deployment import owners_limits, paused_by_its_owner
from controller.domain.rollout.moving.from_zero import FromZero
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


def marks_to_remove(
    release: Release, *, keep_mark: bool, drop_label: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Annotations and labels of ours that the workload carries and should not carry any more.

    If only the label makes the kind known, the label belongs to the owner.
    """
    annotations = {names.ORIGINAL_STRATEGY, names.ADMISSION_PAUSE, names.EXTRA_STATUS}
    labels: set[str] = set()
    if not keep_mark:
        annotations.add(names.IN_PROGRESSING)
        labels.add(names.STABLE_REVISION)
    if drop_label and (release.kind_name.group, release.kind_name.kind) in KNOWN_WORKLOADS:
        labels.add(names.WORKLOAD_TYPE)
    meta = release.meta
    return (
        tuple(sorted(annotations & meta.annotations.keys())),
        tuple(sorted(labels & meta.labels.keys())),
    )


class Deployments(FromZero):
    """The end of a release of a Deployment."""

    def release(self, release: Release, *, keep_mark: bool, drop_label: bool = False) -> Action:
        """Restore strategy, times and `paused` as the owner wrote them."""
        annotations, labels = marks_to_remove(release, keep_mark=keep_mark, drop_label=drop_label)
        record, metadata = release.values_to_restore, release.deployment.metadata
        return ReleaseDeployment(
            workload=release.workload_key,
            generation=metadata.generation,
            owners=record.values if record is not None else None,
            annotations=annotations,
            labels=labels,
            resource_version=metadata.resource_version,
            entries=tuple(
                index
                for index, entry in enumerate(metadata.managed_fields)
                if entry.manager == names.FIELD_MANAGER
            ),
        )

    def promoted(self, release: Release) -> Stop | None:
        """All pods have the template, and as many are available as the owner asks for."""
        deployment = release.deployment
        seen = deployment.status
        limits = owners_limits(release.owners_values, release.replicas)
        done = (
            deployment.observed
            and seen.updated_replicas == deployment.spec.replicas
            and seen.replicas == deployment.spec.replicas
            and seen.available_replicas >= deployment.spec.replicas - limits.unavailable
        )
        if done:
            return None
        return release.stop(problem=kept_paused(release))


def kept_paused(release: Release) -> Refusal | None:
    """The owner keeps the Deployment paused: none of its pods moves until its owner resumes it."""
    if not paused_by_its_owner(release.deployment):
        return None
    return Refusal(
        reason=reasons.PAUSED_BY_OWNER,
        message=f"Deployment {release.workload_key} is paused, and not by Moonshift: "
        "set spec.paused to false to go on",
        object=f"Deployment {release.workload_key}",
    )


def blocked_workload(release: Release) -> Stop | None:
    """The Deployment cannot be moved now: its owner paused it, or its controller has not caught up."""
    problem = kept_paused(release)
    if problem is not None:
        return release.stop(problem=problem)
    # Between a patch and the Deployment controller's answer the pods still follow the old limits.
    return None if release.deployment.observed else release.stop()
