"""Why tests were skipped, read from their reports.

Why reports: with several processes only the process that ran a test knows why, and the summary is written by another.
"""

from collections.abc import Iterable

import pytest


def reason_beginning(reporter: pytest.TerminalReporter, words: str) -> str:
    """Return the first reason of a skip that begins with these words; empty when there is none."""
    reports: Iterable[object] = reporter.stats.get("skipped", ())
    for report in reports:
        longrepr = report.longrepr if isinstance(report, pytest.TestReport) else None
        if isinstance(longrepr, tuple) and (
            reason := longrepr[2].removeprefix("Skipped: ")
        ).startswith(words):
            return str(reason)
    return ""
