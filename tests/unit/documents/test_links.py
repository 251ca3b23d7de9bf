"""Every link of the documents leads to a file of the repository, and to its heading if it names one; named files exist.

Anchors are those of GitHub: a heading in lower case, without punctuation, with hyphens for blanks. Links to other sites
are not followed. Invariant: needs no network and no site generator; `make docs-site` checks the same of the site.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.documents.pages import ROOT

DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "tests" / "README.md"],
)
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]*(?:\([^()\s]*\))?[^()\s]*)\)")
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
NAMED_FILE = re.compile(r"`([\w./-]+\.py)\b")
ROOMS = ("controller", "luaworker", "localcluster", "demo", "tests")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)


def links(page: Path) -> Iterator[str]:
    """The links of a page, without links to other sites."""
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings; one that comes again gets a number."""
    found: dict[str, int] = {}
    made: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text())):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        made.add(f"{anchor}-{found[anchor]}" if anchor in found else anchor)
        found[anchor] = found.get(anchor, 0) + 1
    return made


def problem(page: Path, target: str) -> str:
    """The problem of a link; empty if the link is right."""
    path, _, anchor = target.partition("#")
    there = (page.parent / path).resolve() if path else page
    if not there.exists():
        return f"{target}: there is no such file"
    if not there.is_relative_to(ROOT):
        return f"{target}: is not of the repository"
    if anchor and there.suffix == ".md" and anchor not in anchors(there):
        return f"{target}: there is no such heading"
    return ""


def exists(name: str) -> bool:
    """A Python file of this name exists, with or without its folders."""
    return (ROOT / name).is_file() or any(any(ROOT.glob(f"{room}/**/{name}")) for room in ROOMS)


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [text for target in links(page) if (text := problem(page, target))] == []


def test_links_are_found_and_wrong_ones_are_reported() -> None:
    page = ROOT / "docs" / "operations.md"
    assert sum(1 for document in DOCUMENTS for _ in links(document)) > 100
    assert problem(page, "metrics.md#metrics-for-chosen-accounts-only") == ""
    assert "no such file" in problem(page, "metric.md")
    assert "no such heading" in problem(page, "metrics.md#nothing")
    assert "not of the repository" in problem(page, "../../")


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_named_file_exists(page: Path) -> None:
    """A page may leave out the folders of a file."""
    assert [name for name in NAMED_FILE.findall(page.read_text()) if not exists(name)] == []


def test_a_missing_named_file_is_found() -> None:
    assert exists("tests/unit/documents/test_links.py")
    assert exists("documents/test_links.py")
    assert not exists("inks.py")


def test_every_page_is_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    open_ends = [ROOT / "README.md"]
    while open_ends:
        page = open_ends.pop()
        reached.add(page)
        for target in links(page):
            path = (page.parent / target.partition("#")[0]).resolve()
            ends = sorted(path.glob("*.md")) if path.is_dir() else [path]
            open_ends += [end for end in ends if end.suffix == ".md" and end not in reached]
    assert [page for page in DOCUMENTS if page not in reached] == []
