"""The mark of a test that plays a report. It must name a row of the table, so no test plays what is not in the log."""

from collections.abc import Callable
from typing import TypeVar

from tests.reports.reports import REPORTS

Test = TypeVar("Test", bound=Callable[..., object])
PLAYED: set[str] = set()
"""The reports that a test plays, by `owner/repository#number`."""


def played(*names: str) -> Callable[[Test], Test]:
    """This test plays these reports."""
    known = {report.name for report in REPORTS}
    unknown = [name for name in names if name not in known]
    assert unknown == [], f"no row of tests/reports/reports.py: {unknown}"
    PLAYED.update(names)

    def as_it_is(test: Test) -> Test:
        return test

    return as_it_is
