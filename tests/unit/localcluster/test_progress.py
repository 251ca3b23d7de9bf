"""The progress that a pipe and a terminal show."""

import io

import pytest
from rich.console import Console

from localcluster import progress


def test_a_pipe_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_INTERVAL_SECONDS", 0.0)
    output = io.StringIO()
    reporter = progress.ConsoleReporter(Console(file=output, width=200))
    with reporter.phase("compile", 3) as phase:
        phase.advance("a/package")
    lines = output.getvalue().splitlines()
    assert lines[0] == "compile …"
    assert lines[1].startswith("compile: 33 %, 0 s, less than a minute left")
    assert lines[-1].endswith(" s")
    assert "\x1b" not in output.getvalue()


def test_a_terminal_gets_a_bar() -> None:
    output = io.StringIO()
    console = Console(file=output, width=120, force_terminal=True)
    with progress.ConsoleReporter(console).phase("compile", 3) as phase:
        phase.advance("a/package")
    assert "33 %" in output.getvalue()
    assert "less than a minute left" in output.getvalue()
    assert "compile" in output.getvalue()


@pytest.mark.parametrize(
    ("seconds", "done", "total", "words"),
    [
        (0.0, 0, 100, ""),
        (30.0, 4, 100, ""),  # too early to say
        (60.0, 20, 100, "about 4 min left"),
        (60.0, 60, 100, "less than a minute left"),
        (60.0, 100, 100, ""),
        (60.0, 5, None, ""),
    ],
)
def test_the_remaining_time_is_shown_once_enough_was_seen(
    seconds: float, done: float, total: float | None, words: str
) -> None:
    assert progress.time_left(seconds, done, total) == words
