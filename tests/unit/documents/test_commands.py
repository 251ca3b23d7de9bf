"""Commands that the documents show are understood by the programs they name, and paths that they show exist."""

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from controller.__main__ import _with_flags_of_the_original, main
from controller.cli.main import cli
from localcluster.__main__ import cli as localcluster
from luaworker.__main__ import _parser
from tests.unit.documents.pages import PAGES, ROOT, blocks_of, ticked

PROGRAMS = ("kubectl", "moonshift", "make", "python", "docker")
SHELLS = ("sh", "console", "")
FOLDERS = "controller|luaworker|localcluster|lua_configuration|deploy|demo|docs|editors|examples|protos|tests"
PATH = re.compile(rf"(?<![\w./:-])(?:{FOLDERS})(?:/[\w.-]+)+")
NO_PATH = {"demo/web"}
"""A Rollout, as the CLI names it."""


class Shown(NamedTuple):
    """A command line of a document; one in a sentence may leave out what it is about."""

    page: str
    words: tuple[str, ...]
    in_a_sentence: bool

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.words)}"


def lines_of(page: Path) -> Iterator[tuple[str, bool]]:
    """Every line that somebody would type, and whether it is part of a sentence."""
    for block in blocks_of(page):
        if block.language not in SHELLS:
            continue
        for line in block.lines:
            typed = line.startswith("$ ")
            if typed or block.language == "sh":
                yield line.removeprefix("$ "), False
    for text in ticked(page.read_text()):
        yield text, True


def lines_of_help(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """The command and each example of its help text. Two blanks part an example from its explanation."""
    for line in (command.help or "").splitlines():
        yield f"help of {name}", line.strip().partition("  ")[0]
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for inner in command.list_commands(ctx):
            if (sub := command.get_command(ctx, inner)) is not None:
                yield from lines_of_help(sub, f"{name} {inner}")


def commands() -> list[Shown]:
    """Every command, each once for a page."""
    found: dict[Shown, None] = {}
    shown = [(page.name, *line) for page in PAGES for line in lines_of(page)]
    helped = [(whose, line, False) for whose, line in lines_of_help(cli, "moonshift")]
    for page, line, in_a_sentence in shown + helped:
        if line.partition(" ")[0] not in PROGRAMS or " " not in line or "…" in line:
            continue
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # a quotation that goes on in the next line
            words = line.split()
        for part in _parts(words):
            found[Shown(page, part, in_a_sentence)] = None
    return list(found)


def _parts(words: list[str]) -> Iterator[tuple[str, ...]]:
    """The commands of a line."""
    part: list[str] = []
    for word in [*words, "&&"]:
        if word in ("&&", ";", "|", ">"):
            yield tuple(part)
            part = []
        else:
            part.append(word)


SHOWN = commands()


def of_moonshift(shown: Shown) -> tuple[str, ...] | None:
    """The arguments of our own program; None if the command is of another."""
    match shown.words:
        case ("moonshift", *rest) | ("kubectl", "moonshift", *rest):
            return tuple(rest)
        case _:
            return None


def understood(
    command: click.Command, words: list[str], above: click.Context | None = None
) -> None:
    """Parse as click does when it is run, down to the last command; nothing is carried out."""
    if isinstance(command, click.Group) and not words:
        return
    words = [word for word in words if word != "--help"]
    context = command.make_context(command.name, list(words), parent=above)
    if isinstance(command, click.Group):
        rest = [*context._protected_args, *context.args]
        name, inner, others = command.resolve_command(context, rest)
        assert name is not None
        assert inner is not None
        understood(inner, others, context)


def _given(words: tuple[str, ...]) -> list[str]:
    """A number where the reader puts one."""
    return ["1" if word == "N" else word for word in words]


OWN = [shown for shown in SHOWN if of_moonshift(shown)]


@pytest.mark.parametrize("shown", OWN, ids=str)
def test_a_command_of_ours_is_understood(
    shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = _given(of_moonshift(shown) or ())
    for word in (*words, "web"):
        if not word.startswith("-"):
            place = tmp_path / word
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch() if place.suffix == ".yaml" else place.mkdir(exist_ok=True)
    try:
        understood(cli, words)
    except click.MissingParameter:
        assert shown.in_a_sentence, "a command to copy has to be whole"
        understood(cli, [*words, "web"])


@pytest.mark.parametrize("shown", [s for s in SHOWN if s.words[:2] == ("python", "-m")], ids=str)
def test_a_module_is_there_and_understands_its_arguments(shown: Shown) -> None:
    _, _, module, *words = shown.words
    assert importlib.util.find_spec(module) is not None
    match module:
        case "controller":
            understood(_with_flags_of_the_original(main), words)
        case "luaworker" if words or not shown.in_a_sentence:
            _parser().parse_args(words)
        case "localcluster" if words:
            understood(localcluster, words)


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = {shown.words[1] for shown in SHOWN if shown.words[0] == "make"}
    assert used
    assert used <= targets


def test_every_file_that_is_applied_or_built_exists() -> None:
    found = [
        (shown, value)
        for shown in SHOWN
        if shown.words[0] in ("kubectl", "docker") and of_moonshift(shown) is None
        for flag, value in zip(shown.words, shown.words[1:], strict=False)
        if flag in ("-f", "-k") and value != "-"
    ]
    assert found
    assert [f"{shown}" for shown, value in found if not (ROOT / value).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_of_the_repository_exists(page: Path) -> None:
    named = {path.rstrip(".") for path in PATH.findall(page.read_text())} - NO_PATH
    assert [path for path in named if not exists(path)] == []


def exists(path: str) -> bool:
    """A file, a folder, or a module without its ending."""
    return (ROOT / path).exists() or (ROOT / f"{path}.py").exists()


def test_a_command_line_that_no_program_accepts_is_found() -> None:
    for words in (
        ["permit", "web"],
        ["approve", "--stepp", "2", "web"],
        ["jump", "web", "--to", "x"],
    ):
        with pytest.raises(click.UsageError):
            understood(cli, words)
