"""`status` waits for the outcome and reports it by its exit code."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from controller.api.names import IN_PROGRESSING
from tests.component.cli.double import (
    DEPLOYMENTS,
    ROLLOUTS,
    Cluster,
    cluster,
    make_rollout,
)
from tests.component.kube.faulty_server import event, status

DENIED = (
    'rollouts.rollouts.kruise.io is forbidden: User "ci" cannot list resource "rollouts" in API group '
    '"rollouts.kruise.io" in the namespace "default"'
)

SUCCEEDED = {"type": "Succeeded", "status": "True"}


CANCELED = {"type": "Succeeded", "status": "False"}


STALLED = {"type": "Stalled", "status": "True", "reason": "ServiceNotFound", "message": "no web"}


@pytest.mark.parametrize(
    ("last", "code", "text"),
    [
        (make_rollout(phase="Healthy", conditions=[SUCCEEDED], version="6"), 0, "is completed"),
        (make_rollout(phase="Healthy", conditions=[CANCELED], version="6"), 3, "rolled back"),
        (make_rollout(conditions=[STALLED], version="6"), 4, "ServiceNotFound: no web"),
    ],
)
async def test_status_waits_for_the_outcome(
    tmp_path: Path, last: dict[str, Any], code: int, text: str
) -> None:
    async with cluster(tmp_path, make_rollout(state="StepUpgrade")) as api:
        api.changes_to(last)
        result = await api.run("status", "web", "--timeout", "90s")
    assert result.exit_code == code
    assert "step 1/2 StepUpgrade" in result.output
    assert text in result.output
    assert len([r for r in api.server.listed if r.path == f"{ROLLOUTS}/web"]) == 1


async def test_status_gives_up_with_a_code_of_its_own(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(state="StepUpgrade")) as api:
        result = await api.run("status", "web", "--timeout", "100ms")
    assert result.exit_code == 5
    assert "has not ended within 0.1 s: Progressing, step 1/2, waits for" in result.stderr


async def test_status_until_approval_hands_over_to_a_person(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("status", "web", "--until", "approval")
    assert result.exit_code == 0
    assert "waits for an approval (kubectl moonshift approve web -n default)" in result.output


@pytest.mark.parametrize(
    ("rollout", "code"),
    [
        (make_rollout(), 0),
        (make_rollout(conditions=[STALLED]), 4),
        (make_rollout(phase="Healthy", conditions=[CANCELED]), 3),
    ],
)
async def test_status_without_watching_only_looks(
    tmp_path: Path, rollout: dict[str, Any], code: int
) -> None:
    async with cluster(tmp_path, rollout) as api:
        result = await api.run("status", "web", "--no-watch")
    assert result.exit_code == code
    assert api.server.watched == []


async def test_status_of_a_deleted_rollout_fails(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(state="StepUpgrade")) as api:
        gone = event("DELETED", make_rollout(version="6"))
        api.events[ROLLOUTS] = [gone]
        result = await api.run("status", "web", "--timeout", "90s")
    assert result.exit_code == 1
    assert "was deleted" in result.stderr


async def test_a_rollout_that_may_be_read_and_not_watched_ends_the_wait(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        api.overrides["GET", ROLLOUTS] = (403, status(403, "Forbidden", DENIED))
        result = await api.run("status", "web")
    assert result.exit_code == 1
    assert "Rollout default/web cannot be followed: forbidden: user ci may not list" in (
        result.stderr
    )
    assert "kubectl auth can-i list rollouts.rollouts.kruise.io -n default" in result.stderr


STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"


def of_a_stateful_set(**more: Any) -> dict[str, Any]:
    rollout = make_rollout(**more)
    rollout["spec"]["workloadRef"]["kind"] = "StatefulSet"
    return rollout


def workload(image: str, **annotations: str) -> dict[str, Any]:
    metadata = {"name": "app", "namespace": "default", "uid": "u", "annotations": annotations}
    return {
        "metadata": metadata,
        "spec": {"template": {"spec": {"containers": [{"image": image}]}}},
    }


@contextlib.asynccontextmanager
async def with_both(
    directory: Path, rollout: dict[str, Any], stateful_set: dict[str, Any]
) -> AsyncIterator[Cluster]:
    """A StatefulSet, and a Deployment of the same name that is somebody else's."""
    async with cluster(directory, rollout) as api:
        kinds = {"resources": [{"name": "statefulsets", "kind": "StatefulSet", "namespaced": True}]}
        api.overrides["GET", "/apis/apps/v1"] = (200, kinds)
        api.collections[STATEFUL_SETS] = [stateful_set]
        api.collections[DEPLOYMENTS] = [workload("other:1")]
        yield api


async def test_an_admitted_template_of_a_stateful_set_is_under_way_before_the_controller_sees_it(
    tmp_path: Path,
) -> None:
    before = of_a_stateful_set(phase="Healthy", conditions=[SUCCEEDED])
    held = workload("db:2", **{IN_PROGRESSING: '{"rolloutName":"web"}'})
    async with with_both(tmp_path, before, held) as api:
        result = await api.run("status", "web", "--no-watch")
    assert result.stdout == "the controller has not processed the latest change yet\n"


async def test_the_outcome_names_the_image_of_the_stateful_set_and_not_of_its_namesake(
    tmp_path: Path,
) -> None:
    last = of_a_stateful_set(phase="Healthy", conditions=[SUCCEEDED], version="6")
    async with with_both(tmp_path, of_a_stateful_set(state="StepUpgrade"), workload("db:2")) as api:
        api.changes_to(last)
        result = await api.run("status", "web", "--timeout", "90s")
    assert result.stdout.endswith("the release is completed; db:2 runs\n")
