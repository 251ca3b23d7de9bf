"""Warnings about the objects that a Rollout names: a missing object, or a Service that selects none of its pods.

Why only warnings: a Rollout may be applied before its workload and its Services. Invariant: pure; there is no warning
about an object that could not be read (`Unknown`). A remark lists its objects, so that a caller who read them from a
cache can read them again first: a cache may not have an object that has just been applied.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

import msgspec

from controller.api.names import (
    CONTROLLER_REVISION_HASH,
    FREEZE_MIN_READY_SECONDS,
    POD_TEMPLATE_HASH,
)
from controller.api.networking import Service
from controller.api.quantity import planned_replicas
from controller.api.validation.findings import Fault, FieldError, Findings
from controller.domain.admission.named import Named
from controller.domain.traffic.validation.selecting import unusable, warning_about

ADDED_TO_PODS = frozenset(
    {
        POD_TEMPLATE_HASH,
        CONTROLLER_REVISION_HASH,
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
        "pod-template-generation",
    }
)
"""Labels that workloads' own controllers write on pods, and we into the selectors of Services."""


class Template(msgspec.Struct, frozen=True):
    """A workload exists: the labels of its pods, their number (None: the workload does not say), and the time for
    which one must be ready before it counts.
    """

    labels: dict[str, str]
    replicas: int | None = None
    min_ready_seconds: int = 0
    held_for: str = ""
    """The Rollout for whose release admission or the controller holds it."""


class Exists(msgspec.Struct, frozen=True):
    """The object exists; its content does not matter."""


class Absent(msgspec.Struct, frozen=True):
    """The object does not exist."""


class Unknown(msgspec.Struct, frozen=True):
    """The object could not be read: no right, no such kind, no time."""


Seen = Service | Template | Exists | Absent | Unknown


class Remark(msgspec.Struct, frozen=True):
    """A warning, and the objects that it is about."""

    text: str
    about: tuple[Named, ...]


def remarks(
    named: Sequence[Named], seen: Mapping[Named, Seen], namespace: str
) -> tuple[Remark, ...]:
    """The warnings about the objects of a Rollout in `namespace`."""
    return tuple(
        remark for one in named for remark in _about(one, seen.get(one, Unknown()), seen, namespace)
    )


def left_in_a_hold(left: Named, found: Seen, rollout: str) -> Findings:
    """The refusal if a Rollout would leave the workload `left` while it is held for its release.

    Between the admission of a template and the first status of its release the phase is still Healthy. Nobody would
    remove the hold, and the pods of that workload would never be updated again.
    """
    if not isinstance(found, Template) or found.held_for != rollout:
        return ()
    detail = (
        f"{left.kind} {left.name} is held for a release of this Rollout that is about to begin: the workload can "
        "change after that release"
    )
    return (FieldError(left.path, Fault.FORBIDDEN, detail),)


def _about(one: Named, found: Seen, seen: Mapping[Named, Seen], namespace: str) -> Iterator[Remark]:
    match found:
        case Absent():
            yield Remark(_absent(one, namespace), (one,))
        case Service():
            if text := warning_about(found):
                yield Remark(f"{one.path}: {text}", (one,))
            if unusable(found) is None:
                yield from _selects_nothing(one, found, seen, namespace)
        case Template():
            yield from _leaves_no_old_pod(one, found, namespace)
            yield from _is_never_ready_in_time(one, found, namespace)
        case Exists() | Unknown():
            pass
        case _:
            assert_never(found)


def _absent(one: Named, namespace: str) -> str:
    return (
        f"{one.path}: {one.kind} {namespace}/{one.name} does not exist: create it, or correct the reference; no "
        "release begins without it"
    )


def _leaves_no_old_pod(one: Named, found: Template, namespace: str) -> Iterator[Remark]:
    """Percentages round up: 5 % of one pod is that pod, and no old pod is left for the other requests."""
    size = found.replicas
    if not size:
        return
    for step in one.paced:
        if planned_replicas(step.replicas, size) >= size:
            has = "replica" if size == 1 else "replicas"
            text = (
                f"{step.path}: {one.kind} {namespace}/{one.name} has {size} {has}, and replicas: {step.replicas} is "
                f"all of them: the new version gets all requests there, not {step.asked}; use "
                f"{'enableExtraWorkloadForCanary, or ' if one.kind == 'Deployment' else ''}more replicas"
            )
            yield Remark(text, (one,))


def _is_never_ready_in_time(one: Named, found: Template, namespace: str) -> Iterator[Remark]:
    """A pod counts only after its owner's minReadySeconds, which is work; grace periods are not."""
    seconds, deadline = found.min_ready_seconds, one.deadline
    if deadline is None or seconds < deadline or seconds == FREEZE_MIN_READY_SECONDS:
        return
    text = (
        f"{one.path}: {one.kind} {namespace}/{one.name} has minReadySeconds: {seconds}, so no step is ready within "
        f"progressDeadlineSeconds: {deadline}; make progressDeadlineSeconds longer than that"
    )
    yield Remark(text, (one,))


def _selects_nothing(
    one: Named, service: Service, seen: Mapping[Named, Seen], namespace: str
) -> Iterator[Remark]:
    """The Service selects by labels that the workload's pods do not have."""
    own = service.spec.selector.items()
    wanted = {key: value for key, value in own if key not in ADDED_TO_PODS}
    for workload, found in seen.items():
        if isinstance(found, Template) and not wanted.items() <= found.labels.items():
            selector = ",".join(f"{key}={value}" for key, value in sorted(wanted.items()))
            text = (
                f"{one.path}: Service {namespace}/{one.name}: its selector {selector} matches no pod of "
                f"{workload.kind} {namespace}/{workload.name}; give the pod template these labels, or correct the "
                "Service"
            )
            yield Remark(text, (one, workload))
