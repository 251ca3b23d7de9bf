"""Why pods are not made or not ready, in words that stay while the matter stays."""

from datetime import timedelta

import pytest
from msgspec import structs

from controller.api.workloads import (
    DELETION_COST,
    ContainerState,
    ContainerStatus,
    Pod,
    PodStatus,
    StatusCondition,
    Terminated,
    Waiting,
    slimmed_pod,
)
from controller.domain.pods.trouble import problem_of_creation, problem_of_pods
from tests.unit.builders import NOW, make_pod

UNREADY = StatusCondition(
    "Ready", "False", "ContainersNotReady", "containers with unready status", NOW
)


def pod(
    *containers: ContainerStatus, name: str = "web-1", phase: str = "Pending", **status: object
) -> Pod:
    """A pod that is not ready."""
    current = PodStatus(phase=phase, conditions=(UNREADY,), container_statuses=containers)
    return Pod(metadata=make_pod(name).metadata, status=structs.replace(current, **status))


def waiting(reason: str, message: str = "", **fields: object) -> ContainerStatus:
    state = ContainerState(waiting=Waiting(reason, message))
    return structs.replace(ContainerStatus(name="app", image="img:v2", state=state), **fields)


CRASHED = ContainerState(terminated=Terminated("Error", "", 1))
ENDED = ContainerState(terminated=Terminated("Completed", "", 0))


@pytest.mark.parametrize(
    ("found", "reason", "text"),
    [
        (
            waiting("ErrImagePull", "not found"),
            "ImagePullBackOff",
            "container app: image img:v2 cannot be pulled: not found",
        ),
        (
            waiting("ImagePullBackOff"),
            "ImagePullBackOff",
            "container app: image img:v2 cannot be pulled",
        ),
        (
            waiting("CrashLoopBackOff", "back-off 5m0s", last_state=CRASHED, restart_count=3),
            "CrashLoopBackOff",
            "container app ends with exit code 1 (Error)",
        ),
        (
            waiting("CrashLoopBackOff", "back-off 5m0s", last_state=ENDED, restart_count=3),
            "CrashLoopBackOff",
            "container app ends with exit code 0 (Completed)",
        ),
        (
            ContainerStatus(name="app", last_state=ENDED, restart_count=3),
            "CrashLoopBackOff",
            "container app ends with exit code 0 (Completed)",
        ),
        (
            ContainerStatus(name="app", last_state=CRASHED, restart_count=3),
            "CrashLoopBackOff",
            "container app ends with exit code 1 (Error)",
        ),
        (
            ContainerStatus(name="app", state=CRASHED),
            "CrashLoopBackOff",
            "container app ends with exit code 1 (Error)",
        ),
        (
            waiting("CreateContainerConfigError", "secret not found"),
            "CreateContainerConfigError",
            "container app: secret not found",
        ),
        (waiting("InvalidImageName"), "InvalidImageName", "container app: InvalidImageName"),
    ],
)
def test_the_reason_of_a_waiting_container_is_reported(
    found: ContainerStatus, reason: str, text: str
) -> None:
    trouble = problem_of_pods((pod(found),))
    assert trouble is not None
    assert (trouble.reason, trouble.text, trouble.pod, trouble.since) == (
        reason,
        text,
        "web-1",
        NOW,
    )
    initial = problem_of_pods((pod(init_container_statuses=(found,)),))
    assert initial == trouble


@pytest.mark.parametrize(
    "found", [waiting("ContainerCreating"), waiting("PodInitializing"), ContainerStatus()]
)
def test_a_container_that_is_being_started_is_in_no_trouble(found: ContainerStatus) -> None:
    assert problem_of_pods((pod(found),)) is None


def test_a_pod_that_no_node_takes_says_so() -> None:
    placed = StatusCondition(
        "PodScheduled", "False", "Unschedulable", "0/5 nodes are available", NOW
    )
    trouble = problem_of_pods((pod(conditions=(placed,)),))
    assert trouble is not None
    assert (trouble.reason, trouble.text) == ("Unschedulable", "0/5 nodes are available")
    bare = problem_of_pods((pod(conditions=(StatusCondition("PodScheduled", "False"),)),))
    assert bare is not None
    assert (bare.reason, bare.text) == ("Unschedulable", "no node takes it")


def test_a_pod_that_runs_and_is_not_ready_has_a_failing_probe() -> None:
    trouble = problem_of_pods((pod(ContainerStatus(name="app"), phase="Running"),))
    assert trouble is not None
    assert trouble.reason == "ReadinessProbeFailing"
    assert "containers with unready status" in trouble.text
    silent = StatusCondition("Ready", "False")
    bare = problem_of_pods((pod(phase="Running", conditions=(silent,)),))
    assert bare is not None
    assert bare.text == "it runs and is not ready; its readiness probe fails"
    assert problem_of_pods((pod(phase="Running", conditions=()),)) is None


def test_a_pod_that_has_failed_says_why() -> None:
    trouble = problem_of_pods((pod(phase="Failed", reason="Evicted", message="low on memory"),))
    assert trouble is not None
    assert (trouble.reason, trouble.text) == ("Evicted", "low on memory")
    bare = problem_of_pods((pod(phase="Failed"),))
    assert bare is not None
    assert (bare.reason, bare.text) == ("PodFailed", "the pod has failed")


def test_the_pod_with_the_oldest_trouble_is_reported() -> None:
    late = StatusCondition("Ready", "False", last_transition_time=NOW + timedelta(seconds=9))
    pods = (
        pod(waiting("CreateContainerError"), name="web-00", conditions=(late,)),
        pod(phase="Running", name="web-0"),
        pod(waiting("ErrImagePull"), name="web-2"),
        pod(waiting("ErrImagePull"), name="web-1"),
        make_pod("web-3", ready_since=NOW),
        make_pod("web-4", deleting=True),
    )
    trouble = problem_of_pods(pods)
    assert trouble is not None
    assert trouble.pod == "web-1"
    assert problem_of_pods(()) is None


def test_the_name_of_a_pod_that_was_never_made_is_left_out() -> None:
    found = [
        StatusCondition(
            "ReplicaFailure",
            "True",
            "FailedCreate",
            f'pods "web-5d9-{name}" is forbidden: exceeded quota',
            NOW,
        )
        for name in ("x7k2p", "q9zzt")
    ]
    first, second = (problem_of_creation((condition,)) for condition in found)
    assert first == second
    assert first is not None
    assert first.text == 'pods "web-5d9-…" is forbidden: exceeded quota'


def test_a_workload_that_makes_its_pods_is_in_no_trouble() -> None:
    fine = (StatusCondition("ReplicaFailure", "False"), StatusCondition("Available", "True"))
    assert problem_of_creation(fine) is None
    bare = problem_of_creation((StatusCondition("FailedScale", "True"),))
    assert bare is not None
    assert (bare.reason, bare.text) == ("FailedScale", "condition FailedScale")


def test_a_cache_keeps_of_a_ready_pod_its_readiness_and_its_deletion_cost() -> None:
    ready = StatusCondition("Ready", "True", last_transition_time=NOW)
    others = tuple(StatusCondition(kind, "True") for kind in ("Initialized", "PodScheduled"))
    containers = (ContainerStatus(name="app", ready=True),)
    of_ready = pod(*containers, phase="Running", conditions=(*others, ready))
    noted = structs.replace(of_ready.metadata, annotations={"note": "x", DELETION_COST: "7"})
    slim = slimmed_pod(structs.replace(of_ready, metadata=noted))
    assert slim.status == PodStatus(phase="Running", conditions=(ready,))
    assert slim.metadata == structs.replace(noted, annotations={DELETION_COST: "7"})
    assert slim.ready_since == of_ready.ready_since
    unready = pod(waiting("ErrImagePull"))
    assert slimmed_pod(unready) is unready
