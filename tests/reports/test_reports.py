"""The log of reports: every row is played by a test, named once, and honest about its result."""

from collections import Counter
from pathlib import Path

import pytest

from tests.reports import test_changes, test_ends, test_gates, test_routes, test_sets
from tests.reports.played import PLAYED
from tests.reports.reports import REPORTS, Report, Result

FILES = (test_ends, test_changes, test_gates, test_sets, test_routes)
"""The files that play reports."""


def test_every_report_is_played() -> None:
    assert FILES
    assert [report.name for report in REPORTS if report.name not in PLAYED] == []


def test_every_report_has_one_row() -> None:
    assert [name for name, rows in Counter(r.name for r in REPORTS).items() if rows > 1] == []


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_a_row_says_what_was_seen_what_is_wanted_and_why_it_falls_short(report: Report) -> None:
    assert report.seen.endswith(".")
    assert report.wanted.endswith(".")
    assert bool(report.reason) is (report.result is not Result.RIGHT)


def test_the_page_about_reliability_says_how_many_there_are() -> None:
    page = Path(__file__).parents[2] / "docs" / "reliability.md"
    assert f"Each of its {len(REPORTS)} rows" in page.read_text()
