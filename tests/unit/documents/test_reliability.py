"""docs/reliability.md: the tests, rules, bad histories, faults and numbers that it names are there."""

import re
from pathlib import Path

import pytest

from tests.cluster import invariants
from tests.faults.table import FAULTS
from tests.faults.test_faults import SAMPLE
from tests.mutations.mutants import MUTATIONS
from tests.mutations.of_scripts import OF_SCRIPTS
from tests.mutations.rooms import counted
from tests.unit.cluster.test_invariants import BAD
from tests.unit.documents.test_security import DEFINED

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = (ROOT / "docs" / "reliability.md").read_text()
NAMED = sorted(set(re.findall(r"`(test_\w+)`", DOCUMENT)))
RULES = DOCUMENT.partition("## Rules")[2].partition("\n## ")[0]
CHECKED = {rule for rule, _ in BAD.values()}


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_the_page_names_is_there(name: str) -> None:
    assert name in DEFINED


def test_every_rule_of_the_checker_has_a_bad_history_and_a_row() -> None:
    rules = {rule.__name__ for rule in invariants.RULES}
    rules |= {"ShareNeverFalls", "Margin", "PointedAt", "EmptySides", "StepsInOrder"}
    rules |= {"every_service_leads_somewhere_at_the_end", "no_given_up_pod_is_left"}
    assert rules == CHECKED
    assert [rule for rule in sorted(rules) if f"`{rule}`" not in RULES] == []


def test_the_bad_histories_of_the_table_are_those_of_the_test() -> None:
    """A row names the first of its rule's histories, and counts the others in words."""
    cells = [row.split(" | ") for row in RULES.splitlines() if row.startswith("| ")]
    for _, checker, histories in (row for row in cells if len(row) == 3):
        named = set(re.findall(r"`(\w+)`", checker))
        if named & CHECKED:
            found = [rule.strip(" |") for rule in histories.split(";")]
            assert all(BAD[rule][0] in named for rule in found if "more" not in rule[-6:]), checker


def test_every_fault_is_in_the_table_with_its_style() -> None:
    rows = dict(re.findall(r"^\| (.+?) \| (canary|partition|blue-green) \|$", DOCUMENT, re.M))
    assert rows == {name: style.split(",")[0].removesuffix(" style") for name, style in SAMPLE}
    assert rows.keys() == FAULTS.keys()


def test_the_number_of_deliberate_defects_is_right() -> None:
    assert f"| `tests/mutations` | {len(MUTATIONS)} |" in DOCUMENT
    assert f"| `tests/mutations/test_script_mutations.py` | {len(OF_SCRIPTS)} |" in DOCUMENT


def test_the_defects_of_each_room_are_counted() -> None:
    numbers = dict(
        re.findall(r"^\| `((?:controller|luaworker)[\w/]*)` \| (\d+) \|$", DOCUMENT, re.M)
    )
    assert numbers == {room: str(number) for room, number in counted(MUTATIONS).items()}


def test_every_folder_and_file_that_the_page_names_is_there() -> None:
    paths = set(re.findall(r"`(tests/[\w/.]+)`", DOCUMENT))
    assert len(paths) > 8
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
