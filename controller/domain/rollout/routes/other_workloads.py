"""Warns that a Service which a release pins also leads to pods of another workload.

Why: a pinned Service selects one revision of one workload. If two Deployments are behind it, the pods of the other one
get no requests until the release ends, and the remaining pods get all of them. Nothing else says so before the first
alarm. Invariant: a warning only; the routes need the pin, and the owner may have wanted both workloads there.
"""

from collections.abc import Iterable

from controller.domain import reasons
from controller.domain.decision import Action, Note, PinService, Severity
from controller.domain.rollout.words.release_value import Release


def warnings(release: Release, actions: Iterable[Action]) -> tuple[Note, ...]:
    """A note for each Service that is pinned now and has ready pods which this release does not move."""
    pinned = [action.service for action in actions if isinstance(action, PinService)]
    if not pinned:
        return ()
    ours = {
        pod.metadata.uid for seen in (release.workload, *release.seen.canaries) for pod in seen.pods
    }
    counted = ((service, len(release.ready_endpoints(service.name) - ours)) for service in pinned)
    return tuple(
        Note(
            reasons.OTHER_PODS_BEHIND_SERVICE,
            f"Service {service} also leads to {number} ready pods that do not belong to "
            f"{release.workload_name}: they get no requests through it until the release ends. Give each workload a "
            "Service of its own",
            Severity.WARNING,
        )
        for service, number in counted
        if number
    )
