from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import structs

from controller.api.meta import ObjectMeta
from controller.api.networking import Endpoint, EndpointConditions, EndpointSlice
from controller.api.rollout import (
    BlueGreenStatus,
    BlueGreenStrategy,
    CanaryStatus,
    CanaryStrategy,
    Phase,
    Rollout,
    RolloutSpec,
    RolloutStatus,
    StepState,
    Strategy,
    WorkloadRef,
)
from controller.api.workloads import (
    Deployment,
    DeploymentMeta,
    DeploymentSpec,
    DeploymentStatus,
    PodStatus,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicaSetStatus,
)
from controller.reconcilers import relevance
from controller.reconcilers.relevance import Relevance
from tests.unit.builders import make_pod

READY_AT = datetime(2026, 1, 1, tzinfo=UTC)
NOW, PODS, SOON, NEVER = Relevance

PENDING, READY = make_pod(), make_pod(ready_since=READY_AT)
SCHEDULED = structs.replace(PENDING, status=PodStatus(phase="Pending"))
LABELLED = structs.replace(
    READY, metadata=structs.replace(READY.metadata, labels={"rollouts.kruise.io/batch": "1"})
)
GOING = make_pod(ready_since=READY_AT, deleting=True)


def slice_of(*ready: bool) -> EndpointSlice:
    endpoints = tuple(
        Endpoint(addresses=(f"10.0.0.{number}",), conditions=EndpointConditions(ready=one))
        for number, one in enumerate(ready)
    )
    return EndpointSlice(metadata=ObjectMeta(name="web-1"), endpoints=endpoints)


def replica_set(wanted: int, there: int, ready: int) -> ReplicaSet:
    spec, status = ReplicaSetSpec(replicas=wanted), ReplicaSetStatus(there, ready)
    return ReplicaSet(ObjectMeta(name="web-1"), spec, status)


def deployment(
    *,
    seen: int = 2,
    ready: int = 1,
    paused: bool = False,
    annotations: dict[str, str] | None = None,
) -> Deployment:
    return Deployment(
        DeploymentMeta(name="web", generation=2, annotations=annotations or {}),
        DeploymentSpec(replicas=2, paused=paused),
        DeploymentStatus(
            observed_generation=seen, replicas=2, updated_replicas=2, ready_replicas=ready
        ),
    )


def rollout(
    state: StepState,
    phase: Phase = Phase.PROGRESSING,
    *,
    extra: bool = False,
    kind: str = "Deployment",
) -> Rollout:
    release = CanaryStatus(current_step_state=state)
    plan = CanaryStrategy(enable_extra_workload_for_canary=extra)
    spec = RolloutSpec(WorkloadRef(kind=kind), strategy=Strategy(canary=plan))
    return Rollout(spec=spec, status=RolloutStatus(phase=phase, canary_status=release))


def blue_green(state: StepState) -> Rollout:
    release = BlueGreenStatus(current_step_state=state)
    strategy = Strategy(blue_green=BlueGreenStrategy())
    spec = RolloutSpec(WorkloadRef(kind="Deployment"), strategy=strategy)
    status = RolloutStatus(phase=Phase.PROGRESSING, blue_green_status=release)
    return Rollout(spec=spec, status=status)


STEP, END = StepState.STEP_UPGRADE, StepState.COMPLETED


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(rollout(STEP, extra=True), True, id="in a step of canary style"),
        pytest.param(rollout(STEP), True, id="in a step of partition style"),
        pytest.param(blue_green(STEP), True, id="in a step of blue-green style"),
        pytest.param(rollout(END), True, id="the last pods of partition style are moved"),
        pytest.param(rollout(STEP, Phase.TERMINATING), True, id="its pods are given back"),
        pytest.param(
            rollout(END, extra=True, kind="CloneSet"), True, id="an extra one is for Deployments"
        ),
        pytest.param(rollout(END, extra=True), False, id="the end of canary style"),
        pytest.param(blue_green(END), False, id="the end of blue-green style"),
        pytest.param(rollout(END, Phase.HEALTHY), False, id="no release"),
        pytest.param(None, False, id="no Rollout"),
    ],
)
def test_single_pods_are_waited_for_in_steps_and_while_the_workloads_own_pods_are_moved(
    found: Rollout | None, expected: bool
) -> None:
    assert relevance.waits_for_single_pods(found) is expected


@pytest.mark.parametrize(
    ("relevance_of", "old", "new", "expected"),
    [
        pytest.param(relevance.of_pod, None, PENDING, SOON, id="a pod is made"),
        pytest.param(relevance.of_pod, PENDING, SCHEDULED, SOON, id="a pod is scheduled"),
        pytest.param(relevance.of_pod, PENDING, READY, PODS, id="a pod becomes ready"),
        pytest.param(relevance.of_pod, None, READY, PODS, id="a ready pod is listed"),
        pytest.param(
            relevance.of_pod, READY, GOING, PODS, id="the deletion of a ready pod is requested"
        ),
        pytest.param(relevance.of_pod, READY, LABELLED, PODS, id="a ready pod gets its label"),
        pytest.param(relevance.of_pod, GOING, None, SOON, id="a pod under deletion is gone"),
        pytest.param(relevance.of_pod, READY, None, PODS, id="a ready pod is gone"),
        pytest.param(relevance.of_slice, None, slice_of(False), SOON, id="an address is announced"),
        pytest.param(
            relevance.of_slice, slice_of(False), slice_of(True), NOW, id="the first is ready"
        ),
        pytest.param(relevance.of_slice, slice_of(True), None, NOW, id="a slice is gone"),
        pytest.param(
            relevance.of_slice,
            slice_of(True, False),
            slice_of(True, True),
            NOW,
            id="another address is ready",
        ),
        pytest.param(
            relevance.of_slice,
            slice_of(True),
            slice_of(True, False),
            SOON,
            id="another address is announced",
        ),
        pytest.param(
            relevance.of_replica_set, None, replica_set(1, 0, 0), NOW, id="a revision is made"
        ),
        pytest.param(
            relevance.of_replica_set,
            replica_set(2, 0, 0),
            replica_set(2, 2, 1),
            SOON,
            id="pods of a revision are counted",
        ),
        pytest.param(
            relevance.of_replica_set,
            replica_set(2, 2, 1),
            replica_set(2, 2, 2),
            PODS,
            id="a revision has all of its pods",
        ),
        pytest.param(
            relevance.of_replica_set,
            replica_set(2, 2, 2),
            replica_set(3, 2, 2),
            SOON,
            id="a revision gets another pod",
        ),
        pytest.param(
            relevance.of_deployment,
            deployment(seen=1),
            deployment(),
            NOW,
            id="a change was acted on",
        ),
        pytest.param(
            relevance.of_deployment,
            deployment(ready=0),
            deployment(),
            SOON,
            id="pods of a Deployment are counted",
        ),
        pytest.param(
            relevance.of_deployment,
            deployment(),
            deployment(ready=2),
            NOW,
            id="a Deployment has all of its pods",
        ),
        pytest.param(
            relevance.of_deployment,
            deployment(ready=2),
            deployment(ready=1),
            SOON,
            id="a Deployment loses a pod, which its slice tells",
        ),
        pytest.param(
            relevance.of_deployment, deployment(), deployment(paused=True), NOW, id="it is paused"
        ),
        pytest.param(
            relevance.of_deployment,
            deployment(),
            deployment(annotations={"who": "somebody"}),
            NOW,
            id="it is annotated",
        ),
        pytest.param(
            relevance.of_rollout,
            rollout(StepState.STEP_UPGRADE),
            rollout(StepState.STEP_TRAFFIC_ROUTING),
            SOON,
            id="a pass wrote how far a step is",
        ),
        pytest.param(
            relevance.of_rollout,
            rollout(StepState.STEP_TRAFFIC_ROUTING),
            rollout(StepState.COMPLETED),
            NOW,
            id="a pass wrote that the steps are over",
        ),
        pytest.param(
            relevance.of_rollout,
            rollout(StepState.COMPLETED),
            rollout(StepState.COMPLETED, Phase.HEALTHY),
            NOW,
            id="a release has ended",
        ),
        pytest.param(
            relevance.of_rollout, None, rollout(StepState.STEP_UPGRADE), NOW, id="it is listed"
        ),
    ],
)
def test_a_change_that_a_step_waits_for_is_looked_at_now_and_any_other_soon(
    relevance_of: Any, old: object, new: object, expected: Relevance
) -> None:
    assert relevance_of(old, new) is expected


@pytest.mark.parametrize(
    ("relevance_of", "view"),
    [
        pytest.param(relevance.of_pod, PENDING, id="pod"),
        pytest.param(relevance.of_slice, slice_of(True), id="slice"),
        pytest.param(relevance.of_replica_set, replica_set(2, 2, 2), id="ReplicaSet"),
        pytest.param(relevance.of_deployment, deployment(), id="Deployment"),
    ],
)
def test_a_write_to_fields_that_nobody_reads_here_is_never_looked_at(
    relevance_of: Any, view: Any
) -> None:
    metadata = structs.replace(view.metadata, resource_version="after")
    assert relevance_of(view, structs.replace(view, metadata=metadata)) is NEVER
