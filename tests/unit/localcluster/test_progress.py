"""What a pipe gets to read."""

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
    assert lines[1].startswith("compile: 1 of 3")
    assert lines[-1].endswith(" s")
    assert "\x1b" not in output.getvalue()


def test_a_terminal_gets_a_bar() -> None:
    output = io.StringIO()
    console = Console(file=output, width=120, force_terminal=True)
    with progress.ConsoleReporter(console).phase("compile", 3) as phase:
        phase.advance("a/package")
    assert "1/3" in output.getvalue()
    assert "compile" in output.getvalue()
