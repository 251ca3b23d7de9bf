"""The index of decisions names each of them once, and the template has the parts that a decision needs."""

import re
from collections import Counter

from tests.unit.documents.pages import ROOT

FOLDER = ROOT / "docs" / "decisions"
INDEX = (FOLDER / "index.md").read_text()
DECISIONS = sorted(path.name for path in FOLDER.glob("2*.md"))


def test_every_decision_is_in_the_index_once() -> None:
    listed = Counter(re.findall(r"^- \[[^\]]+\]\((2[\w-]+\.md)\)", INDEX, re.MULTILINE))
    assert listed == dict.fromkeys(DECISIONS, 1)


def test_a_name_in_the_index_is_the_title_or_its_beginning() -> None:
    for title, name in re.findall(r"^- \[([^\]]+)\]\((2[\w-]+\.md)\)", INDEX, re.MULTILINE):
        assert (FOLDER / name).read_text().startswith(f"# {title}"), name


def test_a_replaced_decision_is_marked_in_the_index() -> None:
    replaced = [name for name in DECISIONS if "**Replaced**" in (FOLDER / name).read_text()]
    marked = re.findall(r"\((2[\w-]+\.md)\) \(replaced", INDEX)
    assert sorted(marked) == replaced


def test_the_template_has_the_parts() -> None:
    text = (FOLDER / "template.md").read_text()
    assert "| alternative | for | against |" in text
    assert "**Decision**" in text
    assert "**Not chosen**" in text
