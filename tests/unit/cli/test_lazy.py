"""Commands are imported when they are called."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from controller.cli.lazy import LazyGroup
from controller.cli.main import cli


def groups() -> list[click.Group]:
    """Every group of commands of the program."""
    ctx = click.Context(cli)
    found = (cli.get_command(ctx, name) for name in cli.list_commands(ctx))
    return [cli, *(command for command in found if isinstance(command, click.Group))]


@pytest.mark.parametrize("group", groups(), ids=lambda group: str(group.name))
def test_every_command_is_found_under_the_name_that_it_has(group: click.Group) -> None:
    ctx = click.Context(group)
    names = group.list_commands(ctx)
    found = [group.get_command(ctx, name) for name in names]
    assert [command.name for command in found if command is not None] == names


def test_a_name_that_no_command_has_is_not_found() -> None:
    assert LazyGroup(modules={}).get_command(click.Context(cli), "approv") is None


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("promot", "No such command 'promot'. Did you mean promote?"),
        ("xyz", "No such command 'xyz'."),
    ],
)
def test_a_mistyped_command_is_answered_with_the_nearest_one(typed: str, answer: str) -> None:
    result = CliRunner().invoke(cli, [typed, "web"])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"Error: {answer}"


def test_a_command_imports_neither_the_simulation_nor_the_script_tools() -> None:
    code = (
        "import sys; from controller.cli.main import cli; "
        "cli(['version', '--client'], standalone_mode=False); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "controller.cli.commands.version" in loaded
    rooms = ("controller.simulation", "controller.cli.simulation", "controller.cli.script_tools")
    assert [module for module in loaded if module.startswith(rooms)] == []
