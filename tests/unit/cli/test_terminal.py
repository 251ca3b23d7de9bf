"""What objects of a cluster bring with them does not steer a terminal."""

import io

import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from controller.cli.failures import Failure
from controller.cli.output import plain
from controller.cli.terminal import CleanConsole, clean, say

EVIL = "fine\x1b[2J\x1b]0;title\x07\x9b31m\r‮gnihtyna\tend\nnext"
SHOWN = "fine␛[2J␛]0;title␇�31m␍�gnihtyna\tend\nnext"


def test_control_characters_are_shown_as_their_picture() -> None:
    assert clean(EVIL) == SHOWN
    assert clean("naïve ✓ 漢字") == "naïve ✓ 漢字"


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


def test_nor_in_a_pipe() -> None:
    assert plain(Text("x\x1b[2Jy")) == "x␛[2Jy"


def test_nor_do_lines_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    say("a\x1b[31mb")
    Failure("why: c\x1b[31md").show()
    said = capsys.readouterr()
    assert (said.out, said.err) == ("a␛[31mb\n", "error: why: c␛[31md\n")
