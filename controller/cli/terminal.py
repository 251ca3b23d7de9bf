"""Text for a terminal, without control characters from objects of the cluster.

Why: an annotation, an Event or a container's message may contain escape sequences. Its author could otherwise move the
reader's cursor, colour a failure green, or type commands. Invariant: of control characters only the end of a line and
the tabulator pass; others are shown as their picture (ESC as ␛). Our own colours are not part of the text and stay.
This is the only module that prints: plain `click.echo` and `print` are refused by the linter everywhere else in the
command line.
"""

import asyncio
import io
import re
import sys
from collections.abc import Iterable
from typing import IO, Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""C0 and C1, and characters that change the direction of writing."""


_OF_DIFFS = {"+": "green", "-": "red", "@": "cyan"}
_END_OF_LINE = re.compile("[\\n\u2028\u2029]")


def clean(text: str) -> str:
    """The text with its control characters made visible."""
    return _CONTROL.sub(lambda found: _picture(ord(found[0])), text)


def one_line(text: str) -> str:
    """The text without ends of lines: text of others must not look like a line of ours."""
    return _END_OF_LINE.sub(_picture(ord("\n")), text)


def _picture(code: int) -> str:
    """One character, so that tables keep their columns."""
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def has_control(text: str) -> bool:
    """Whether the text has characters that steer a terminal."""
    return _CONTROL.search(text) is not None


def say(
    text: str | Text, *, err: bool = False, nl: bool = True, file: IO[Any] | None = None
) -> None:
    """Print for people; a Text with its colours on a terminal."""
    shown = clean(text) if isinstance(text, str) else _coloured(text)
    click.echo(shown, file=file, err=err, nl=nl)


def _coloured(text: Text) -> str:
    """With colours, which click removes when the output is not a terminal."""
    console = CleanConsole(file=io.StringIO(), force_terminal=True, color_system="standard")
    with console.capture() as captured:
        console.print(text, soft_wrap=True, end="")
    return captured.get()


class CleanConsole(Console):
    """Rich's console, for text that others wrote: brackets in it (`[red]`, `[/x]`) and names of emoji are only text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Every piece of text, cleaned."""
        for segment in super().render(renderable, options):
            if segment.control or not _CONTROL.search(segment.text):
                yield segment
            else:
                yield Segment(clean(segment.text), segment.style)


async def agreed(question: str) -> bool:
    """Ask a person; Ctrl-C ends the question, because nothing blocks before the answer is there."""
    say(f"{question} [y/N]: ", err=True, nl=False)
    await _line_of_input()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


async def _line_of_input() -> None:
    """Wait until a line can be read."""
    try:
        descriptor = sys.stdin.fileno()
    except io.UnsupportedOperation:
        return  # no file: its lines are there
    loop, there = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, there.set)
    try:
        await there.wait()
    finally:
        loop.remove_reader(descriptor)


def diff_line(line: str) -> Text:
    """A line of a unified diff in its colour."""
    return Text(clean(line), style=_OF_DIFFS.get(line[:1], "dim"))
