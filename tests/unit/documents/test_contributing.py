"""Pages for people who begin: their files exist, no ring of tests is left out, and twenty behaviours have an answer."""

import re
from pathlib import Path

import pytest

from tests.unit.documents.pages import ROOT, rows_of, ticked

CONTRIBUTING = ROOT / "CONTRIBUTING.md"
RINGS = ROOT / "tests" / "README.md"
WHERE = ROOT / "docs" / "where-is-it.md"
PLACES = ROOT / "docs" / "first-places.md"
FILE = re.compile(r"[.\w/-]+\.(?:py|md|yaml|lua|toml|lock)|[\w-]+(?:/[\w-]+)+/?")
MOST_WORDS = 1000
NO_TESTS = {"__pycache__"}


def named_files(page: Path) -> list[str]:
    """Files and folders in backticks; a file name alone is one in the folder that is named before it."""
    return [word for word in ticked(page.read_text()) if FILE.fullmatch(word) and "/" in word]


@pytest.mark.parametrize(
    "page", [CONTRIBUTING, RINGS, WHERE, PLACES], ids=lambda page: f"{page.parent.name}/{page.name}"
)
def test_every_named_file_is_there(page: Path) -> None:
    named = named_files(page)
    assert len(named) > 4
    inside = (ROOT, ROOT / "tests")
    assert [name for name in named if not any((at / name).exists() for at in inside)] == []


def test_contributing_is_one_page_with_five_recipes() -> None:
    text = CONTRIBUTING.read_text()
    assert len(text.split()) <= MOST_WORDS
    recipes = text.partition("## Where do I begin?")[2].partition("\n## ")[0]
    begun = re.findall(r"^\*\*([A-Z][\w ]+?)(?:\*\*|\.\*\*)", recipes, re.MULTILINE)
    assert [name.split()[-1] for name in begun] == ["kind", "remedy", "action", "line", "metric"]


def test_every_ring_of_tests_is_explained() -> None:
    folders = {
        folder.name
        for folder in (ROOT / "tests").iterdir()
        if folder.is_dir() and any(folder.rglob("*.py")) and folder.name not in NO_TESTS
    }
    explained = set(ticked(RINGS.read_text()))
    assert folders - explained == set()


def test_twenty_behaviours_have_a_file_and_a_test() -> None:
    rows = [row for row in rows_of(WHERE) if row.cells[0] != "behaviour" and len(row.cells) == 3]
    rows = [row for row in rows if row.cells[1].startswith("`")]
    assert len(rows) == 20
    assert all(row.cells[1].startswith("`controller/") for row in rows)
    assert all(row.cells[2].startswith("`tests/") for row in rows)
    assert len({row.cells[1] for row in rows}) == 20


def test_ten_first_places_name_where_to_begin() -> None:
    places = re.split(r"^\d+\. ", PLACES.read_text(), flags=re.MULTILINE)[1:]
    assert len(places) == 10
    assert [place for place in places if not any("/" in word for word in ticked(place))] == []
