"""docs/security.md: every right of the controller has its reason and the test that needs it."""

import re
from typing import Any

import pytest
import yaml

from tests.unit.documents.pages import ROOT
from tests.unit.documents.test_security import DEFINED

BASE = ROOT / "deploy/kustomize/base"
ROW = re.compile(
    r"^\| ([\w., -]+): ([\w/, ]+?)(?: named ([\w., -]+))?: ([a-z, ]+) \| (.+) \| `(test_\w+)` \|$"
)
PAGE = (ROOT / "docs/security.md").read_text()
SECTION = PAGE.partition("## Rights of the controller\n")[2].partition("\n## ")[0]
ROWS = [found.groups(default="") for line in SECTION.splitlines() if (found := ROW.match(line))]


def rules() -> list[dict[str, Any]]:
    """The rules of the controller's roles, in their order."""
    return [
        rule
        for name in ("controller-role.yaml", "own-namespace-role.yaml")
        for document in yaml.safe_load_all((BASE / name).read_text())
        if document["kind"] in ("ClusterRole", "Role")
        for rule in document["rules"]
    ]


def written(rule: dict[str, Any]) -> tuple[str, str, str, str]:
    """A rule as its row has it."""
    groups = ", ".join(group or "core" for group in rule["apiGroups"])
    names = ", ".join(rule.get("resourceNames", ()))
    return groups, ", ".join(rule["resources"]), names, ", ".join(rule["verbs"])


def test_every_rule_has_its_row_and_every_row_its_rule() -> None:
    assert [row[:4] for row in ROWS] == [written(rule) for rule in rules()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[1]}-{row[3]}")
def test_the_test_that_needs_a_right_is_there(row: tuple[str, ...]) -> None:
    assert row[5] in DEFINED
