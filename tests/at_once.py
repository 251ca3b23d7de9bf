"""Prints the failure of a test when the test fails.

Why it exists: pytest prints failures when the run ends. A run that is ended from outside, by a time limit or by a
person, must have printed those that it found.

Invariant: the terminal of the first process alone is written to. It must not replace pytest's own report at the end.
"""

import pytest

FIRST_LINES, LAST_LINES = 20, 10
"""Lines of a failure that are printed at once: those that begin the error, which say what is wrong, and the last ones,
which say where. The whole failure follows when the run ends.
"""


class FailuresAtOnce:
    """A plugin of pytest."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._terminal.write_line(f"\n{report.nodeid} failed in its {report.when}:", red=True)
            self._terminal.write_line(shortened(report.longreprtext))
            self._terminal.flush()


def shortened(failure: str) -> str:
    """The beginning and the end of the error in pytest's text of a failure."""
    lines = failure.splitlines()
    begun = next((place for place, line in enumerate(lines) if line.startswith("E ")), 0)
    lines = lines[begun:]
    if len(lines) > FIRST_LINES + LAST_LINES:
        lines[FIRST_LINES:-LAST_LINES] = ["..."]
    return "\n".join(lines)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Processes side by side have no terminal, but the first one."""
    if terminal := session.config.pluginmanager.get_plugin("terminalreporter"):
        session.config.pluginmanager.register(FailuresAtOnce(terminal))
