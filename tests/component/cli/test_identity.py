"""The identity of a command, from the kubeconfig and the command line, on every request that it sends."""

import json
from pathlib import Path

import click
import pytest
import yaml

from controller.cli.main import cli
from tests.component.cli.commands.test_nobody_at_work import LEASES
from tests.component.cli.double import Cluster, cluster, make_rollout
from tests.component.kube.faulty_server import status


def placed(api: Cluster) -> set[tuple[str, str]]:
    """The impersonated users of all requests."""
    return {
        (
            request.headers.get("impersonate-user", ""),
            request.headers.get("impersonate-group", ""),
        )
        for request in api.server.requests
    }


async def test_an_approval_behind_an_impersonation_is_made_in_that_place(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        await api.run("approve", "web", user={"token": "t", "as": "jane", "as-groups": ["viewers"]})
    assert api.patches
    assert placed(api) == {("jane", "viewers")}


@pytest.mark.parametrize(
    "line",
    [
        "approve web --as joe --as-group a --as-group b --as-uid 7 --as-user-extra why=x",
        "--as joe --as-group a --as-group b --as-uid 7 --as-user-extra why=x approve web",
        "--as no --as-group no approve web --as joe --as-group a --as-group b --as-uid 7 --as-user-extra why=x",
    ],
)
async def test_flags_take_a_place_as_kubectls_do(tmp_path: Path, line: str) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run(*line.split(), user={"as": "jane", "as-groups": ["viewers"]})
    assert result.exit_code == 0, result.output
    assert placed(api) == {("joe", "a,b")}
    headers = api.server.requests[-1].headers
    assert (headers["impersonate-uid"], headers["impersonate-extra-why"]) == ("7", "x")


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        ("get --as-group a", 1, "but no user: give --as"),
        ("get --as j --as-user-extra why", 2, "--as-user-extra why: write it as KEY=VALUE"),
        ("get --user nobody", 1, "--user nobody: "),
        ("get --cluster none", 1, "it has: c"),
    ],
)
async def test_options_that_give_no_identity_are_refused_before_a_request(
    tmp_path: Path, line: str, code: int, text: str
) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run(*line.split())
    assert (result.exit_code, text in result.stderr) == (code, True), result.stderr
    assert not api.server.requests


async def test_another_user_and_cluster_of_the_kubeconfig_can_be_named(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        await api.run("get")  # writes the kubeconfig
        tree = yaml.safe_load((tmp_path / "kubeconfig").read_text())
        tree["clusters"] += [{"name": "far", "cluster": {"server": "http://127.0.0.1:1"}}]
        tree["users"] += [{"name": "joe", "user": {"token": "of-joe"}}]
        tree["contexts"][0]["context"]["cluster"] = "far"
        (tmp_path / "other").write_text(json.dumps(tree))
        line = ["get", "--kubeconfig", str(tmp_path / "other"), "--cluster", "c", "--user", "joe"]
        result = await api.run(*line)
    assert result.exit_code == 0, result.stderr
    assert api.server.requests[-1].headers["authorization"] == "Bearer of-joe"


def test_every_command_of_a_cluster_has_kubectls_options() -> None:
    offline = {"test-scripts", "run-script", "lint-script", "convert", "rollout", "lint"}
    wanted = {"--context", "--cluster", "--user", "--as", "--as-group", "--kubeconfig", "-n"}
    ctx = click.Context(cli)
    for name in cli.list_commands(ctx):
        command = cli.get_command(ctx, name)
        if command is not None and name not in offline:
            found = {flag for parameter in command.params for flag in parameter.opts}
            assert wanted <= found, name


async def test_a_user_without_the_right_to_the_lease_gets_no_report_that_no_controller_exists(
    tmp_path: Path,
) -> None:
    text = (
        'leases.coordination.k8s.io "71ddec2c.kruise.io" is forbidden: User "jane" cannot get resource "leases" in '
        'API group "coordination.k8s.io" in the namespace "kruise-rollout"'
    )
    pending = make_rollout()
    pending["status"]["moonshift"]["approval"] = {"step": 1}
    async with cluster(tmp_path, pending) as api:
        api.overrides["GET", f"{LEASES}/71ddec2c.kruise.io"] = (403, status(403, "Forbidden", text))
        result = await api.run("approve", "web", "--wait", "--timeout", "100ms")
    assert result.exit_code == 5, result.stderr
    assert (
        "so whether a controller is at work is not known (forbidden: user jane may not get leases"
        in (result.stderr)
    )
    assert "no controller" not in result.stderr
