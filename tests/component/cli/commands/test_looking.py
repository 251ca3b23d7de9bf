"""`get`, `describe`, `why` and `version`: their output, also if an object may not be read."""

import json
from pathlib import Path

from tests.component.cli.double import (
    DEPLOYMENTS,
    cluster,
    make_rollout,
)
from tests.component.kube.faulty_server import status


async def test_the_table_lists_the_existing_objects(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout(), make_rollout(name="api")) as api:
        table = await api.run("get")
        data = await api.run("get", "rollouts", "-o", "json")
        empty = await api.run("get", "-n", "default", "-o", "wide")
    assert [line.split()[0] for line in table.output.splitlines()] == ["NAME", "api", "web"]
    assert [item["name"] for item in json.loads(data.output)["items"]] == ["api", "web"]
    assert "WORKLOAD" in empty.output


async def test_an_empty_namespace_is_reported_on_standard_error(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api:
        result = await api.run("get")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "No Rollouts in namespace default.\n"


async def test_forbidden_kinds_are_named_in_the_tree(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        denied = status(
            403,
            "Forbidden",
            'deployments.apps is forbidden: User "j" cannot list resource "deployments" in API group "apps" '
            'in the namespace "default"',
        )
        api.overrides["GET", DEPLOYMENTS] = (403, denied)
        result = await api.run("get", "web")
    assert result.exit_code == 0
    assert (
        "not shown: deployments.apps: forbidden: user j may not list deployments" in result.output
    )


async def test_describe_shows_the_plan_also_when_events_cannot_be_read(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("describe", "rollout/web")
        data = await api.run("describe", "web", "-o", "yaml")
    assert result.exit_code == 0
    assert "  >   1      50%        no routes   until approved" in result.output
    assert "not shown: events: not found" in result.output
    assert "waitsFor: an approval" in data.output


async def test_why_is_a_few_lines_for_people_and_fields_for_programs(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("why", "rollout/web")
        data = await api.run("why", "web", "-o", "json")
    lines = result.output.splitlines()
    assert lines[0].startswith("Rollout default/web  Progressing  step 1/")
    assert lines[1].startswith("waits for an approval")
    assert "! cannot be seen: events: not found" in result.output
    found = json.loads(data.output)
    assert found["waitsFor"] == "an approval"
    assert found["command"].endswith("approve web -n default")


LANES = "/apis/rollouts.kruise.io/v1alpha1/namespaces/default/trafficroutings"
HELD = "VirtualService default/web was changed by flux, and two writers must not fight"


async def test_the_problem_of_a_shared_route_is_read_from_its_trafficrouting(
    tmp_path: Path,
) -> None:
    member = make_rollout()
    member["metadata"]["annotations"] = {"rollouts.kruise.io/trafficrouting": "lane"}
    stalled = {"type": "Stalled", "status": "True", "reason": "RouteHeld", "message": HELD}
    lane = {
        "metadata": {"name": "lane", "namespace": "default", "uid": "uid-lane"},
        "spec": {"objectRef": [{"service": "web"}], "strategy": {"weight": 20}},
        "status": {
            "phase": "Progressing",
            "conditions": [stalled],
            "members": [{"rollout": "web", "routed": True}],
        },
    }
    async with cluster(tmp_path, member) as api:
        api.collections[LANES] = [lane]
        why = await api.run("why", "web")
        described = await api.run("describe", "web", "-o", "json")
    assert f"! trafficrouting/lane: {HELD}" in why.output
    assert "kubectl describe trafficrouting lane -n default" in why.output
    assert json.loads(described.output)["sharedRoutes"] == {
        "name": "lane",
        "phase": "Progressing",
        "routed": True,
        "reason": "RouteHeld",
        "problem": HELD,
    }


async def test_versions_are_shown_as_far_as_they_are_known(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api:
        api.overrides["GET", "/version"] = (200, {"gitVersion": "v1.35.0"})
        result = await api.run("version")
        only = await api.run("version", "--client")
    assert "server:     v1.35.0" in result.output
    assert "controller: not known (not found" in result.output
    assert only.output.startswith("client: ")
