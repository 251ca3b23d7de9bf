"""An error is one line on standard error and an exit code, never a stack trace."""

import contextlib
import errno
import io
from pathlib import Path

import pytest
from click.testing import CliRunner

from controller.cli.main import cli, main
from tests.component.cli.double import ROLLOUTS, cluster, make_rollout
from tests.component.kube.faulty_server import status


async def test_a_cluster_without_the_crd_is_reported(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api:
        api.collections.clear()
        listed = await api.run("get")
        named = await api.run("approve", "web")
    for result in (listed, named):
        assert result.exit_code == 1
        assert result.stderr.startswith("error: this cluster has no Rollouts")
        assert "install Moonshift's CRDs" in result.stderr
        assert result.stderr.count("\n") == 1


async def test_a_wrong_name_leads_to_the_right_one(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        result = await api.run("approve", "wbe")
        workload = await api.run("status", "app")
    assert result.stderr == (
        "error: there is no Rollout wbe in namespace default; did you mean web?\n"
    )
    assert "Deployment app is released by Rollout web" in workload.stderr


async def test_a_missing_right_names_verb_and_resource(tmp_path: Path) -> None:
    denied = (
        'rollouts.rollouts.kruise.io "web" is forbidden: User "j" cannot patch resource "rollouts/status" in '
        'API group "rollouts.kruise.io" in the namespace "default"'
    )
    async with cluster(tmp_path, make_rollout()) as api:
        answer = (403, status(403, "Forbidden", denied))
        api.overrides["PATCH", f"{ROLLOUTS}/web/status"] = answer
        result = await api.run("approve", "web")
    assert result.exit_code == 1
    assert "user j may not patch rollouts/status (rollouts.kruise.io)" in result.stderr


async def test_an_admission_refusal_is_passed_on(tmp_path: Path) -> None:
    async with cluster(tmp_path, make_rollout()) as api:
        text = status(422, "Invalid", "spec.strategy: must not be touched")
        api.overrides["PATCH", f"{ROLLOUTS}/web"] = (422, text)
        result = await api.run("pause", "web")
    assert result.stderr == (
        "error: the API server refused it: spec.strategy: must not be touched\n"
    )


async def test_an_unreachable_server_is_reported(tmp_path: Path) -> None:
    async with cluster(tmp_path) as api:
        pass  # ended: nobody listens on its port any more
    result = await api.run("get")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: the API server gave no answer (GET ")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, list(arguments), prog_name="moonshift")
    return result.exit_code, result.stderr


def test_a_kubeconfig_that_is_not_there_is_named() -> None:
    code, result = run("get", "--kubeconfig", "/no/such/file")
    assert code == 1
    assert result.startswith("error: the kubeconfig /no/such/file does not exist")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("approve", "Missing argument"),
        ("approve deployment/web", "is not a Rollout"),
        ("approve a b --step 1", "one NAME"),
        ("status a b", "one Rollout was expected"),
        ("status web --timeout soon", "no duration"),
        ("get web -A", "give -n instead of -A"),
        ("get web -w -o json", "-w prints for people"),
        ("get a b -w", "one NAME or none"),
    ],
)
def test_a_wrong_command_line_ends_with_two(line: str, text: str) -> None:
    code, result = run(*line.split())
    assert code == 2
    assert text in result


@pytest.mark.parametrize(
    "command",
    ["", "get", "describe", "approve", "pause", "resume", "status", "undo", "version", "rollout"],
)
def test_every_help_teaches_with_an_example(command: str) -> None:
    result = CliRunner().invoke(cli, [*filter(None, [command]), "--help"])
    assert result.exit_code == 0
    assert "kubectl" in result.output


def test_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["moonshift", "version"])

    def no_space(**given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cli, "main", no_space)
    said = io.StringIO()
    with contextlib.redirect_stderr(said), pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert said.getvalue().startswith("error: ")
    assert said.getvalue().endswith("No space left on device\n")
