"""Prints the failure of a test when the test fails.

Why it exists: pytest prints failures when the run ends. A run that is ended from outside, by a time limit or by a
person, must have printed those that it found.

Invariant: the terminal of the first process alone is written to. It must not replace pytest's own report at the end.
"""

import pytest

LAST_LINES = 25
"""Lines of a failure that are printed at once. The whole failure follows when the run ends."""


class FailuresAtOnce:
    """A plugin of pytest."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._terminal.write_line(f"\n{report.nodeid} failed in its {report.when}:", red=True)
            self._terminal.write_line("\n".join(report.longreprtext.splitlines()[-LAST_LINES:]))
            self._terminal.flush()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Processes side by side have no terminal, but the first one."""
    if terminal := session.config.pluginmanager.get_plugin("terminalreporter"):
        session.config.pluginmanager.register(FailuresAtOnce(terminal))
