"""Every program says which version it is, and it is the version of the package."""

import importlib.metadata
import tomllib
from pathlib import Path

import pytest
from click import Command
from click.testing import CliRunner

import luaworker
from controller import version
from controller.__main__ import main
from controller.cli.main import cli
from controller.telemetry.metrics import Metrics

PACKAGE = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize(("program", "named"), [(cli, "moonshift"), (main, "moonshift controller")])
def test_a_program_says_its_version(program: Command, named: str) -> None:
    answer = CliRunner().invoke(program, ["--version"])
    assert answer.output == f"{named}, version {PACKAGE['version']}\n"


def test_the_worker_has_the_version_of_the_package() -> None:
    assert luaworker.__version__ == PACKAGE["version"]


def test_metrics_say_the_version() -> None:
    labels = {"version": PACKAGE["version"]}
    assert Metrics().registry.get_sample_value("moonshift_build_info", labels) == 1


def test_files_that_are_not_installed_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    assert version.program_version() == version.UNKNOWN
