"""docs/scripts.md names correctly the gateway kinds that the controller's role covers, and the place of rights for
others."""

import functools
from pathlib import Path

import yaml

from tests.unit.documents.pages import ROOT

KUSTOMIZE = ROOT / "deploy/kustomize"
PACKAGED = ROOT / "lua_configuration"


@functools.cache
def granted(path: Path) -> frozenset[tuple[str, str]]:
    """Group and resource of what the roles of a file let the controller change."""
    return frozenset(
        (group, resource)
        for role in yaml.load_all(path.read_text(), yaml.CSafeLoader)
        if role
        for rule in role.get("rules") or ()
        if "update" in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    )


def packaged() -> set[tuple[str, str]]:
    """Group and kind, lower case, of each packaged script."""
    folders = [script.parent for script in PACKAGED.glob("*.*/*/trafficRouting.lua")]
    return {(folder.parent.name, folder.name.lower()) for folder in folders}


def is_covered(kind: tuple[str, str], rights: frozenset[tuple[str, str]]) -> bool:
    """A resource is the plural of its kind."""
    group, name = kind
    stems = (name, name.removesuffix("y") + "ie", name + "e")
    return any((group, f"{stem}s") in rights for stem in stems)


def test_the_kinds_that_the_controllers_own_role_covers_are_named() -> None:
    own = granted(KUSTOMIZE / "base/controller-role.yaml")
    covered = {name for group, name in packaged() if is_covered((group, name), own)}
    (sentence,) = [
        line
        for line in (ROOT / "docs/scripts.md").read_text().splitlines()
        if line.startswith("**Rights.** The controller's role covers ")
    ]
    words = sentence.lower().replace(",", " ").replace(".", " ").split()
    assert covered == {word for word in words if any(word == name for _, name in packaged())}


def test_every_other_packaged_kind_has_a_role_that_can_be_applied() -> None:
    rights = frozenset().union(
        granted(KUSTOMIZE / "base/controller-role.yaml"),
        *(granted(path) for path in (KUSTOMIZE / "gateways").glob("*.yaml")),
    )
    assert sorted(kind for kind in packaged() if not is_covered(kind, rights)) == []
