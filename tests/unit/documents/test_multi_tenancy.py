"""docs/multi-tenancy.md: each right is given by the roles that its row names, and by no other."""

import re

import pytest
import yaml

from tests.unit.documents.pages import ROOT

PAGE = ROOT / "docs" / "multi-tenancy.md"
ROLES = ROOT / "deploy" / "kustomize" / "base" / "user-roles.yaml"
ROW = re.compile(r"^\| ([^|]+) \| `(\w+)` on `([\w/]+)` \|(.+)\|$", re.MULTILINE)
NAMED = ("viewer", "editor", "approver", "script-author")
ROWS = ROW.findall(PAGE.read_text())


def rules_of(name: str) -> list[dict[str, list[str]]]:
    """The rules of one of the roles."""
    (found,) = [
        role["rules"]
        for role in yaml.safe_load_all(ROLES.read_text())
        if role["metadata"]["name"] == f"rollout-{name}-role"
    ]
    assert isinstance(found, list)
    return found


def gives(name: str, verb: str, resource: str) -> bool:
    return any(verb in rule["verbs"] and resource in rule["resources"] for rule in rules_of(name))


@pytest.mark.parametrize(("what", "verb", "resource", "cells"), ROWS)
def test_a_row_names_the_account_that_has_the_right(
    what: str, verb: str, resource: str, cells: str
) -> None:
    found = [cell.strip() for cell in cells.split("|")]
    assert found == ["●" if gives(name, verb, resource) else "–" for name in NAMED], what


def test_every_resource_of_the_roles_has_a_row() -> None:
    listed = {resource for _, _, resource, _ in ROWS}
    given = {r for name in NAMED for rule in rules_of(name) for r in rule["resources"]}
    ours = {resource for resource in given if not resource.endswith("/status")}
    assert ours <= listed
