"""The changelog is one page: the changes that come next, then what each published version has."""

import re

from controller.version import program_version
from tests.unit.documents.pages import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text()
HEADINGS = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
FIRST_PAGE = 60


def part(heading: str) -> str:
    """The text below a heading."""
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].strip()


def test_unreleased_changes_stand_above_the_present_version() -> None:
    assert HEADINGS[:2] == ["Unreleased", program_version()]
    assert part("Unreleased")


def test_the_first_version_has_a_page() -> None:
    assert len(part("0.1.0").splitlines()) <= FIRST_PAGE


def test_an_entry_is_one_line() -> None:
    """A second line of an entry would begin with blanks."""
    assert [line for line in TEXT.splitlines() if line.startswith("  ")] == []
