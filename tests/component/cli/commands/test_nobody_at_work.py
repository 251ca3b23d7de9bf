"""Commands report when no controller is at work, and when they cannot know that."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from controller.domain.shards import shard_of
from tests.component.cli.double import (
    ROLLOUTS,
    Cluster,
    cluster,
    make_rollout,
)
from tests.component.kube.faulty_server import status

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kruise-rollout/leases"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param("get web", 0, id="get"),
        pytest.param("approve web", 0, id="approve"),
        pytest.param("status web --until approval", 0, id="status"),
        pytest.param("status web --timeout 50ms", 5, id="status in vain"),
    ],
)
async def test_commands_report_that_no_controller_is_at_work(
    tmp_path: Path, line: str, code: int
) -> None:
    spec = {"leaseDurationSeconds": 15, "renewTime": "2026-05-04T12:00:00.000000Z"}
    lease = {"metadata": {"name": "71ddec2c.kruise.io"}, "spec": spec}
    async with cluster(tmp_path, make_rollout()) as api:
        api.collections[LEASES] = [lease]
        result = await api.run(*line.split())
    assert result.exit_code == code
    assert "no controller is at work" in result.output


@pytest.mark.parametrize("silent", [True, False])
async def test_with_shards_the_lease_of_the_rollouts_namespace_is_judged(
    tmp_path: Path, silent: bool
) -> None:
    """Three controllers divide the namespaces: the other two still renew their Leases."""
    own = f"71ddec2c.kruise.io-{shard_of('default', 3)}"
    names = ("71ddec2c.kruise.io", *(f"71ddec2c.kruise.io-{shard}" for shard in range(3)))
    async with cluster(tmp_path, make_rollout()) as api:
        api.collections[LEASES] = [renewed(name, long_ago=silent and name == own) for name in names]
        output = (await api.run("get", "web")).output
    assert (
        f"no controller is at work: the Lease kruise-rollout/{own} was renewed" in output
    ) == silent


def renewed(name: str, *, long_ago: bool) -> dict[str, Any]:
    """A Lease of the controller."""
    at = datetime(2026, 5, 4, 12, tzinfo=UTC) if long_ago else datetime.now(UTC)
    spec = {
        "holderIdentity": "shards-3",
        "leaseDurationSeconds": 15,
        "renewTime": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    return {"metadata": {"name": name}, "spec": spec}


ELSEWHERE = "/apis/coordination.k8s.io/v1/namespaces/platform/leases"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def runs_elsewhere(api: Cluster, *, long_ago: bool, left_behind: bool) -> None:
    """The CRD names the controller's namespace."""
    client_config = {"service": {"namespace": "platform", "name": "kruise-rollout-webhook-service"}}
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client_config}}
    definition = {
        "metadata": {"name": "rollouts.rollouts.kruise.io"},
        "spec": {"conversion": conversion},
    }
    api.collections[DEFINITIONS] = [definition]
    api.collections[LEASES] = [renewed("71ddec2c.kruise.io", long_ago=True)] * left_behind
    api.collections[ELSEWHERE] = [renewed("71ddec2c.kruise.io", long_ago=long_ago)]


@pytest.mark.parametrize("long_ago", [True, False])
@pytest.mark.parametrize(
    "left_behind",
    [
        pytest.param(False, id="no other Lease"),
        pytest.param(True, id="beside the Lease of an earlier installation"),
    ],
)
async def test_the_lease_of_a_controller_in_another_namespace_is_found_by_the_crd(
    tmp_path: Path, left_behind: bool, long_ago: bool
) -> None:
    async with cluster(tmp_path, standing(state="StepUpgrade")) as api:
        runs_elsewhere(api, long_ago=long_ago, left_behind=left_behind)
        output = (await api.run("why", "web")).output
    silent = "no controller is at work: the Lease platform/71ddec2c.kruise.io was renewed"
    assert (silent in output) == long_ago
    assert ("no controller" in output) == long_ago
    assert ("kubectl get pods -n platform" in output) == long_ago
    assert "not known" not in output


async def test_a_person_without_the_right_to_the_crd_names_the_namespace(tmp_path: Path) -> None:
    async with cluster(tmp_path, standing(state="StepUpgrade")) as api:
        runs_elsewhere(api, long_ago=True, left_behind=False)
        denied = status(403, "Forbidden", "no right to CRDs")
        api.overrides["GET", f"{DEFINITIONS}/rollouts.rollouts.kruise.io"] = (403, denied)
        silent = (await api.run("get", "web")).output
        named = (await api.run("get", "web", "--controller-namespace", "platform")).output
    assert "no controller" not in silent
    assert "the Lease platform/71ddec2c.kruise.io was renewed" in named


def without_the_right(api: Cluster) -> None:
    """The user of the command may not read the controller's Lease."""
    denied = (
        'leases.coordination.k8s.io "71ddec2c.kruise.io" is forbidden: User "jane" cannot get resource "leases" in '
        'API group "coordination.k8s.io" in the namespace "kruise-rollout"'
    )
    path = f"{LEASES}/71ddec2c.kruise.io"
    api.overrides["GET", path] = (403, status(403, "Forbidden", denied))


NOT_KNOWN = (
    "you may not read the Lease kruise-rollout/71ddec2c.kruise.io, "
    "so whether a controller is at work is not known"
)


def standing(**more: Any) -> dict[str, Any]:
    """A release whose status has not changed for months."""
    rollout = make_rollout(**more)
    rollout["status"]["moonshift"]["stateSince"] = "2026-05-04T12:00:00Z"
    return rollout


@pytest.mark.parametrize(
    "line",
    ["get web", "why web", "describe web", "status web --no-watch", "status web --timeout 100ms"],
)
async def test_a_user_without_the_right_to_the_lease_learns_that_when_a_release_stands_still(
    tmp_path: Path, line: str
) -> None:
    async with cluster(tmp_path, standing(state="StepUpgrade")) as api:
        without_the_right(api)
        output = (await api.run(*line.split())).output
    assert NOT_KNOWN in output
    assert "no controller" not in output


async def test_an_approval_warns_that_no_controller_may_be_at_work(tmp_path: Path) -> None:
    taken = standing()
    taken["status"]["canaryStatus"]["currentStepState"] = "StepReady"
    async with cluster(tmp_path, standing()) as api:
        without_the_right(api)
        sent = await api.run("approve", "web")
        api.collections[ROLLOUTS] = [taken]
        refused = await api.run("approve", "web")
    assert (sent.exit_code, sent.stderr) == (0, f"warning: {NOT_KNOWN}\n")
    assert refused.exit_code == 1
    assert f"the controller has not acted on it yet; {NOT_KNOWN}" in refused.stderr


async def test_a_status_that_waited_in_vain_says_so(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(state="StepUpgrade")) as api:
        without_the_right(api)
        result = await api.run("status", "web", "--timeout", "100ms")
    assert result.exit_code == 5
    assert result.stderr.count(NOT_KNOWN) == 1


@pytest.mark.parametrize(
    "rollout",
    [
        pytest.param(standing(), id="a person is waited for"),
        pytest.param(standing(state="StepUpgrade", paused=True), id="paused by a person"),
        pytest.param(standing(phase="Healthy"), id="at rest"),
        pytest.param(make_rollout(state="StepUpgrade"), id="nobody knows for how long"),
    ],
)
async def test_an_irrelevant_lease_is_not_mentioned(
    tmp_path: Path, rollout: dict[str, Any]
) -> None:
    async with cluster(tmp_path, rollout) as api:
        without_the_right(api)
        found = [
            await api.run(*line.split()) for line in ("get web", "get", "status web --no-watch")
        ]
    assert not any("Lease" in result.output for result in found)
