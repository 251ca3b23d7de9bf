"""Printing: rich on a terminal, plain text in a pipe, JSON or YAML for programs.

Invariant: nothing is wrapped or cut in a pipe, and no escape code gets there.
"""

import io
import sys
from collections.abc import Sequence

import click
import msgspec
import yaml
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table

from controller.cli import jsonpath
from controller.cli.terminal import CleanConsole, has_control, say

PIPE_WIDTH = 10_000
JSONPATH = "jsonpath="


class OutputForm(click.ParamType[str]):
    """`-o`: json, yaml, name, jsonpath={…}, and others that a command has."""

    name = "form"

    def __init__(self, *others: str) -> None:
        self._known = ("json", "yaml", "name", *others)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The form, as it was written."""
        if value not in self._known and not value.startswith(JSONPATH):
            self.fail(f"{value!r} is none of {', '.join(self._known)}, {JSONPATH}{{…}}", param, ctx)
        return value

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The form in which help shows it."""
        return "[" + "|".join((*self._known, f"{JSONPATH}{{…}}")) + "]"


def is_data(form: str | None) -> bool:
    """Whether the form is for programs: JSON, YAML, or the value of a path."""
    return form in ("json", "yaml") or (form or "").startswith(JSONPATH)


def terminal() -> Console | None:
    """The terminal on standard output, if there is one that can draw: one that only prints (TERM=dumb) is a pipe."""
    console = CleanConsole()
    return console if sys.stdout.isatty() and not console.is_dumb_terminal else None


def plain(renderable: RenderableType) -> str:
    """As text without colours, lines as long as they are."""
    console = CleanConsole(file=io.StringIO(), width=PIPE_WIDTH, color_system=None)
    with console.capture() as captured:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


def show(renderable: RenderableType, *, lines: bool = False) -> None:
    """Print the text for people; the terminal itself wraps `lines`, so that a command that is copied is whole."""
    console = terminal()
    if console is None:
        say(plain(renderable))
        return
    if isinstance(renderable, Table):
        widen_for(console, renderable)
    console.print(renderable, soft_wrap=lines)


def widen_for(console: Console, table: Table) -> None:
    """Let lines run over the edge of a narrow terminal, as kubectl's do, rather than cut words into letters."""
    options = console.options.update(max_width=PIPE_WIDTH)
    console.width = max(console.width, Measurement.get(console, options, table).minimum)


def show_data(view: msgspec.Struct | Sequence[msgspec.Struct], form: str) -> None:
    """Print for programs: the exact data, without any character that controls a terminal."""
    say(as_data(view, form))


def show_views(views: Sequence[msgspec.Struct], form: str) -> None:
    """Print for programs: one view as it is, several as one list, which is one document."""
    show_data(views[0] if len(views) == 1 else views, form)


def as_data(view: msgspec.Struct | Sequence[msgspec.Struct], form: str) -> str:
    """JSON, YAML, or the value of a path; in JSON and YAML control characters are escapes, which parsers decode."""
    if form.startswith(JSONPATH):
        return jsonpath.filled(form.removeprefix(JSONPATH), view)
    if form == "yaml":
        data = msgspec.to_builtins(view)
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
        if has_control(text):
            text = yaml.safe_dump(data, sort_keys=False)
        return text.rstrip()
    text = msgspec.json.format(msgspec.json.encode(view), indent=2).decode()
    return "".join(f"\\u{ord(char):04x}" if has_control(char) else char for char in text)
