"""docs/architecture.md: every file and folder it names exists, and every package of the controller is in it."""

import re

import pytest

from tests.unit.documents.pages import ROOT, Row, rows_of, ticked

PAGE = ROOT / "docs/architecture.md"
_PATH = re.compile(r"(?<![\w./-])[a-z_]+(?:/[a-z_]+)+(?:\.(?:py|lua|md|yaml))?(?![\w/-])")
_PLACES = ("", "controller", "controller/domain")
"""Where a path may begin: at the root, or in a room that the sentence is about."""


def rooms() -> list[Row]:
    """The rows of the table; one that begins with `the same` is about the room above it."""
    found: list[Row] = []
    for row in rows_of(PAGE):
        if row.section == "Rooms" and (row.names or found):
            found.append(row._replace(names=row.names or found[-1].names))
    return found


def there(path: str, inside: tuple[str, ...] = _PLACES) -> bool:
    """A folder or a file, with or without its ending."""
    places = [ROOT / place / path for place in inside]
    return any(place.exists() or place.with_name(f"{place.name}.py").exists() for place in places)


def rooms_of(row: Row) -> tuple[str, ...]:
    """The folders of a row; names after the first may leave out what they share with it."""
    first = row.names[0]
    shared = first.rpartition("/")[0]
    return (
        first,
        *(name if "/" in name else f"{shared}/{name}".lstrip("/") for name in row.names[1:]),
    )


ROOMS = rooms()


def test_every_path_exists() -> None:
    text = re.sub(r"\]\([^)]*\)", "", PAGE.read_text())
    named = set(_PATH.findall(text))
    assert len(named) > 30
    assert [path for path in sorted(named) if not there(path)] == []


@pytest.mark.parametrize("row", ROOMS, ids=lambda row: f"{row.names[0]}, {row.cells[-1]}")
def test_every_room_has_the_files_that_its_row_names(row: Row) -> None:
    rooms = rooms_of(row)
    assert [room for room in rooms if not there(room)] == []
    files = [word for word in ticked(row.cells[0]) if re.fullmatch("[a-z_]+", word)]
    assert [name for name in files if not there(name, rooms)] == []


def test_every_package_of_the_controller_has_a_row() -> None:
    listed = {room for row in ROOMS for room in rooms_of(row)}
    packages = {
        folder.relative_to(ROOT).as_posix()
        for pattern in ("controller/*/__init__.py", "controller/domain/*/__init__.py")
        for folder in (init.parent for init in ROOT.glob(pattern))
    }
    assert packages - listed - {"controller/domain"} == set()
