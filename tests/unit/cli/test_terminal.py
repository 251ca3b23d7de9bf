"""Text from the objects of a cluster does not control a terminal."""

import io
import json

import pytest
import yaml
from click.testing import CliRunner
from rich.console import Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from controller.cli.commands import version
from controller.cli.failures import Failure
from controller.cli.main import cli
from controller.cli.output import as_data, plain
from controller.cli.script_tools.lua_literal import lua_string
from controller.cli.terminal import CleanConsole, clean, say

EVIL = "fine\x1b[2J\x1b]0;title\x07\x9b31m\r‮gnihtyna\tend\nnext"
SHOWN = "fine␛[2J␛]0;title␇�31m␍�gnihtyna\tend\nnext"


def test_control_characters_are_shown_as_their_picture() -> None:
    assert clean(EVIL) == SHOWN
    assert clean("naïve ✓ 漢字") == "naïve ✓ 漢字"


@pytest.mark.parametrize("words", ["see [/x]", "a [red]b[/red]", "at :smile: [link=x]y[/link]"])
def test_brackets_and_names_of_emoji_in_others_text_are_only_text(words: str) -> None:
    table = Table(words)
    table.add_row(words)
    tree = Tree(words)
    tree.add(words)
    assert plain(Group(table, tree, Text(words))).count(words) == 5


def test_no_renderable_lets_them_through_on_a_terminal_and_colours_stay() -> None:
    table = Table("A")
    table.add_row(Text("x\x1b[2Jy", style="red"))
    tree = Tree("root")
    tree.add("x\x1b[2Jy")
    output = io.StringIO()
    console = CleanConsole(file=output, force_terminal=True, color_system="standard", width=80)
    console.print(Group(table, tree, Text("x\x1b[2Jy")))
    assert "\x1b[2J" not in output.getvalue()
    assert output.getvalue().count("x␛[2J") == 3
    assert "\x1b[31m" in output.getvalue()


def test_control_characters_are_replaced_in_a_pipe_too() -> None:
    assert plain(Text("x\x1b[2Jy")) == "x␛[2Jy"


def test_lines_and_errors_do_not_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\x1b[31mb")
    Failure("why: c\x1b[31md").show()
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("a␛[31mb\n", "error: why: c␛[31md\n")


def test_a_coloured_line_keeps_its_colours_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say(Text.assemble(("FAIL", "red"), "  a\x1b[2Jb"))
    assert capsys.readouterr().out == "FAIL  a␛[2Jb\n"


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_data_for_programs_is_the_same_data_without_them(form: str) -> None:
    sent = version.Versions("naïve", EVIL, "1")
    text = as_data(sent, form)
    assert not {"\x1b", "\x9b", "\u202e", "\r"} & {*text}
    read = json.loads(text) if form == "json" else yaml.safe_load(text)
    assert read == {"client": "naïve", "server": EVIL, "controller": "1"}


def test_data_without_them_is_left_readable() -> None:
    assert "naïve ✓" in as_data(version.Versions("naïve ✓", "", ""), "yaml")


def test_a_string_of_lua_writes_control_characters_by_number() -> None:
    assert lua_string("a\x1b\u202e\x9bé") == '"a\\027\\226\\128\\174\\194\\155é"'


def test_the_image_of_the_controller_does_not_steer_the_terminal_that_shows_versions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(version, "run", lambda _: version.Versions("1", "2", "image\x1b[2J"))
    result = CliRunner().invoke(cli, ["version"])
    assert "controller: image␛[2J\n" in result.output


def test_ctrl_c_ends_any_command_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(version, "program_version", interrupted)
    result = CliRunner().invoke(cli, ["version", "--client"])
    assert (result.exit_code, result.output) == (130, "")
