from typing import Any

import pytest

from controller.api.workloads import Pod
from controller.cli.views.pod_troubles import unready_because
from tests.unit.cli.builders import NEW, ago, make_pod


def container(**state: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "web", "state": state}]}


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (
            container(waiting={"reason": "CrashLoopBackOff", "message": "back-off 10s\nmore"}),
            "CrashLoopBackOff: back-off 10s",
        ),
        (container(waiting={"reason": "ImagePullBackOff"}), "ImagePullBackOff"),
        (container(terminated={"reason": "OOMKilled"}), "OOMKilled"),
        (container(waiting={"reason": "ContainerCreating"}), "not ready"),
        (
            {
                "phase": "Pending",
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/3 nodes",
                    }
                ],
            },
            "Unschedulable: 0/3 nodes",
        ),
        ({"phase": "Pending", "conditions": []}, "Pending"),
        ({"containerStatuses": [{"name": "a", "ready": True}]}, "not ready"),
        (
            {
                "initContainerStatuses": [
                    {"name": "init", "state": {"waiting": {"reason": "ErrImagePull"}}}
                ]
            },
            "ErrImagePull",
        ),
    ],
)
def test_the_reason_is_the_most_telling_one(status: dict[str, Any], text: str) -> None:
    assert unready_because(make_pod("a", NEW, ready=False, status=status)) == text


def test_a_ready_pod_needs_no_reason_and_a_leaving_one_says_so() -> None:
    assert unready_because(make_pod("a", NEW)) == ""
    assert unready_because(make_pod("a", NEW, deletionTimestamp=ago(1))) == "Terminating"


def test_a_pod_without_container_details_is_just_not_ready() -> None:
    assert unready_because(Pod()) == "not ready"
