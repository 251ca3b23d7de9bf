"""`make docs-site`: the navigation names every page once, links fit the site, and each environment's lock is whole."""

import posixpath
import re
import tomllib

import pytest
from packaging.requirements import Requirement

from tests.unit.documents import site
from tests.unit.documents.pages import ROOT
from tests.unit.documents.test_links import FENCE, LINK

PAGES = site.pages()


def named() -> list[str]:
    """The pages of the navigation, in order."""
    navigation = site.configuration().partition("\nnav:\n")[2]
    return re.findall(r"- (?:[\w ]+: )?([\w./-]+\.md)$", navigation, re.MULTILINE)


def test_the_navigation_names_every_page_once() -> None:
    assert sorted(named()) == sorted(PAGES)


def test_the_readme_is_the_first_page() -> None:
    assert named()[0] == "index.md"
    assert PAGES["index.md"].startswith("# Moonshift\n")


def test_links_fit_the_places_of_the_pages() -> None:
    assert "](docs/" not in PAGES["index.md"]
    assert [name for name, text in PAGES.items() if "README.md" in text] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_to_a_page_or_a_file_of_the_site(name: str) -> None:
    targets = [
        link for link in LINK.findall(FENCE.sub("", PAGES[name])) if not re.match(r"[a-z]+:", link)
    ]
    there = {
        posixpath.normpath(posixpath.join(posixpath.dirname(name), link.partition("#")[0]))
        for link in targets
        if link[0] != "#"
    }
    assert there - PAGES.keys() - site.files().keys() == set()


def test_a_list_after_a_sentence_becomes_a_list_and_a_block_stays_as_it_is() -> None:
    text = "Said:\n- one\n- two\n\n```\nSaid:\n- one\n```\n"
    assert site.fitted("x.md", text) == text.replace("Said:\n- one\n- two", "Said:\n\n- one\n- two")


@pytest.mark.parametrize("group", ["docs", "audit"])
def test_a_group_is_pinned_with_hashes(group: str) -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"][group]
    lock = (ROOT / f"requirements-{group}.lock").read_text()
    pins = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", lock, re.MULTILINE))
    assert lock.count("--hash=sha256:") >= len(pins) > len(wanted)
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(pins[requirement.name])


def test_both_environments_are_made_from_their_locks() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert ".venv-%/.installed: requirements-%.lock" in makefile
    assert "--no-deps --require-hashes -r $<" in makefile
