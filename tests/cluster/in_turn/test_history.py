"""Releases are recorded in the cluster with the names of their approvers, and only the configured number is kept."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.history import Kind
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster.kinds import RECORDED, collection
from tests.cluster.manifests import NEW_IMAGE, THIRD_IMAGE, Application, StepPlan
from tests.cluster.secrecy import kept_product
from tests.cluster.story import Story

HISTORIES = Kind("rollouts.kruise.io", "v1alpha1", "rollouthistories")
FLAGS = ("--feature-gates=RolloutHistory=true", "--rollout-history-limit=1")
APP = Application("shop", "", False, (StepPlan(1), StepPlan(2)), replicas=3)


@pytest.fixture
async def remembering(
    ground: Plane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Product]:
    """Give Moonshift that keeps one record of each Rollout."""
    async with kept_product(ground, tmp_path_factory.mktemp("history"), extra=FLAGS) as running:
        yield running


async def test_a_release_is_written_down_with_its_pods_and_approvals(remembering: Product) -> None:
    plane = remembering.plane
    kinds = [kind for kind in RECORDED if "istio" not in kind.group]
    async with plane.recorder(*kinds) as recorder:
        story = await _story(plane, recorder)
        await story.begin()
        await story.approve_all()
        await story.completed()
        first = await _records(story)
        await story.release(THIRD_IMAGE)
        await story.approve_all()
        await story.rollout(
            lambda status: (
                status.get("phase") == "Healthy"
                and status["moonshift"]["revision"] != first[0]["status"]["revision"]
            )
        )
        (second,) = await _records(story)
    assert len(first) == 1
    status = first[0]["status"]
    assert (status["phase"], status["outcome"]) == ("completed", "Succeeded")
    assert {approval["by"] for approval in status["approvals"]} == {"approver"}
    pods = [pod for step in status["canarySteps"] for pod in step["pods"]]
    assert len(pods) == 3
    assert all(pod["ip"] and pod["nodeName"] for pod in pods)
    assert status["workingSeconds"] > 0
    workload = first[0]["spec"]["workload"]
    assert workload["data"]["template"]["spec"]["containers"][0]["image"] == NEW_IMAGE
    assert second["metadata"]["name"] != first[0]["metadata"]["name"]
    assert second["status"]["stableRevision"] != status["stableRevision"]


async def _story(plane: Plane, recorder: Recorder) -> Story:
    namespace = f"test-{uuid.uuid4().hex[:10]}"
    await plane.client().create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    return Story(plane, recorder, replace(APP, namespace=namespace))


async def _records(story: Story) -> list[JsonObject]:
    answer = await story.client.get(collection(HISTORIES, story.app.namespace))
    items: list[JsonObject] = answer["items"]
    return items
