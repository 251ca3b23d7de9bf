"""A Service which a release pins can also lead to pods of another workload: a warning, or a refusal.

Why: a pinned Service selects one revision of one workload. If two Deployments are behind it, the pods of the other one
get no requests until the release ends, and the remaining pods get all of them: a warning, because the owner may have
wanted both workloads there. But where a route divides the Service's pods into subsets, as Istio's own bookinfo does,
the subsets of the other workloads have no endpoint any more, and their requests are lost: a refusal before the pin.
"""

from collections.abc import Iterable, Iterator

from controller.domain import reasons
from controller.domain.decision import Action, Note, PinService, Refusal, Severity
from controller.domain.observation import RoutePresent
from controller.domain.rollout.routes import services
from controller.domain.rollout.words.release_value import Release
from controller.domain.target import Pinned
from controller.domain.traffic.drift.object_state import read_object_state
from controller.domain.traffic.subsets import subsets_of


def warnings(release: Release, actions: Iterable[Action]) -> tuple[Note, ...]:
    """A note for each Service that is pinned now and has ready pods which this release does not move."""
    return tuple(
        Note(
            reasons.OTHER_PODS_BEHIND_SERVICE,
            f"Service {action.service} also leads to {number} ready pods that do not belong to "
            f"{release.workload_name}: they get no requests through it until the release ends. Give each workload a "
            "Service of its own",
            Severity.WARNING,
        )
        for action, number in _pins_with_other_pods(release, actions)
    )


def would_empty_a_subset(release: Release, index: int) -> Refusal | None:
    """The step's pin would leave a subset that a route names without a pod, because another workload has its pods."""
    if release.target(index).pinned is not Pinned.YES:
        return None
    for action, number in _pins_with_other_pods(release, services.pinned(release)):
        for subject, subsets in _subsets(release, action.service.name):
            if len(subsets) > 1:
                return _refused(release, action, number, subject, subsets)
    return None


def _refused(
    release: Release, action: PinService, number: int, subject: str, subsets: tuple[str, ...]
) -> Refusal:
    return Refusal(
        reason=reasons.OTHER_PODS_BEHIND_SERVICE,
        message=f"{subject} divides Service {action.service} into the subsets {', '.join(subsets)}, and {number} "
        f"ready pods behind the Service do not belong to {release.workload_name}: while the release lasts, the "
        "Service selects this workload only, and requests to the other subsets would be lost. Give each workload a "
        "Service of its own and name it in the Rollout",
        object=subject,
    )


def _pins_with_other_pods(
    release: Release, actions: Iterable[Action]
) -> tuple[tuple[PinService, int], ...]:
    """Each pin of a Service that has ready pods of others, and the number of these."""
    pins = [action for action in actions if isinstance(action, PinService)]
    if not pins:
        return ()
    ours = {
        pod.metadata.uid for seen in (release.workload, *release.seen.canaries) for pod in seen.pods
    }
    counted = ((pin, len(release.ready_endpoints(pin.service.name) - ours)) for pin in pins)
    return tuple((pin, number) for pin, number in counted if number)


def _subsets(release: Release, service: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each gateway object, and the subsets of the Service that it names."""
    for route in release.seen.routes:
        subject = route.reference.name_in(release.namespace)
        named = [
            found.original
            for state in (route.state,)
            if isinstance(state, RoutePresent) and route.reference.stable_service == service
            if not isinstance(found := read_object_state(bytes(state.raw), subject), Refusal)
        ]
        yield subject, subsets_of([*named], service, release.namespace)
