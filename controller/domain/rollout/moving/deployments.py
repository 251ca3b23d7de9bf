"""The common part of the three mechanisms for a native Deployment: restoring its owner's own values.

Invariant: the owner's values and our marks change in one write.
"""

from controller.api import names
from controller.api.rollout import OwnersValues
from controller.api.workload_kinds import DEPLOYMENT, KNOWN_WORKLOADS
from controller.domain import reasons
from controller.domain.decision import (
    Action,
    FieldOfSpec,
    MoveWorkload,
    Refusal,
    ReleaseWorkload,
    field_of_spec,
)
from controller.domain.pods.deployment import (
    WrittenLimits,
    owners_limits,
    paused_by_its_owner,
    progress_deadline,
)
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


def paced(
    release: Release,
    limits: WrittenLimits,
    *,
    ends_pause: bool = False,
    owners: OwnersValues | None = None,
    extra_status: str = "",
) -> MoveWorkload:
    """The Deployment has these rolling update limits; with `ends_pause`, the admission pause ends.

    Frozen, unless the owner's own values are given: the running revision is never frozen.
    """
    rolling = {"maxSurge": limits.max_surge, "maxUnavailable": limits.max_unavailable}
    ready, deadline = names.FREEZE_MIN_READY_SECONDS, names.FREEZE_PROGRESS_DEADLINE_SECONDS
    if owners is not None:
        ready, deadline = owners.min_ready_seconds, progress_deadline(owners)
    fields = (
        field_of_spec("strategy", {"type": "RollingUpdate", "rollingUpdate": rolling}),
        field_of_spec("minReadySeconds", ready),
        field_of_spec("progressDeadlineSeconds", deadline),
    )
    return MoveWorkload(
        kind=DEPLOYMENT,
        workload=release.workload_key,
        generation=release.meta.generation,
        fields=(field_of_spec("paused", False), *fields) if ends_pause else fields,
        admission_pause=release.meta.annotations[names.ADMISSION_PAUSE] if ends_pause else "",
        extra_status=extra_status,
    )


def _owners_fields(owners: OwnersValues) -> tuple[FieldOfSpec, ...]:
    """An absent deadline is the API server's own default: an absent field cannot be removed safely by a patch."""
    strategy = () if owners.strategy is None else (FieldOfSpec("strategy", owners.strategy),)
    return (
        field_of_spec("minReadySeconds", owners.min_ready_seconds),
        field_of_spec("paused", owners.paused),
        *strategy,
        field_of_spec("progressDeadlineSeconds", progress_deadline(owners)),
    )


class Deployments(FromZero):
    """The end of a release of a Deployment."""

    def release(self, release: Release, *, keep_mark: bool, drop_label: bool = False) -> Action:
        """Restore strategy, times and `paused` as the owner wrote them."""
        annotations, labels = marks_to_remove(release, keep_mark=keep_mark, drop_label=drop_label)
        record, metadata = release.values_to_restore, release.deployment.metadata
        return ReleaseWorkload(
            kind=DEPLOYMENT,
            workload=release.workload_key,
            generation=metadata.generation,
            fields=_owners_fields(record.values) if record is not None else (),
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
