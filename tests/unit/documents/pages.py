"""The documents as data: their tables and their fenced blocks."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "tests" / "README.md"])

_TICKED = re.compile(r"`([^`]+)`")


class Row(NamedTuple):
    """A row of a table: the names in its first cell, and the other cells."""

    section: str
    names: tuple[str, ...]
    cells: tuple[str, ...]


class Block(NamedTuple):
    """A fenced block."""

    page: str
    language: str
    lines: tuple[str, ...]


def rows_of(page: Path) -> Iterator[Row]:
    """Every row of every table, with the heading above it."""
    section = ""
    for line in page.read_text().splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        if line.startswith("| ") and line.endswith("|"):
            first, *others = (cell.strip() for cell in line[1:-1].split(" | "))
            yield Row(section, tuple(_TICKED.findall(first)), tuple(others))


def blocks_of(page: Path) -> Iterator[Block]:
    """Every fenced block; a line that ends with a backslash goes on in the next."""
    inside: list[str] | None = None
    language = ""
    for line in page.read_text().splitlines():
        if line.lstrip().startswith("```"):
            if inside is None:
                language, inside = line.strip().removeprefix("```"), []
            else:
                joined = "\n".join(inside).replace("\\\n", " ").splitlines()
                yield Block(page.name, language, tuple(joined))
                inside = None
        elif inside is not None:
            inside.append(line)


def ticked(text: str) -> tuple[str, ...]:
    """Everything in backticks outside of fenced blocks."""
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return tuple(_TICKED.findall(outside))
