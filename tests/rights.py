"""Which rights of the manifests the controller used in a run of the tests, and which it never used.

Why it exists: an unused right only helps an attacker. The API servers of the tests write
down every request and whether the authorizer allowed it; these records are compared with the roles that we ship.
Run it over the folders that a test run left (`python -m tests.rights FOLDER…`); it ends with 1 if no test used a
right. Invariant: only requests of the controller count, made as an account with rights (administrators need none). It
must not start a plane.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from rich.console import Console
from rich.table import Table

from controller.app.process import USER_AGENT
from demo.stage import ROOT
from localcluster.audit import AuditLog, AuditRecord

MANIFESTS = ROOT / "deploy" / "kustomize"
PEOPLE = "user-roles.yaml"
"""Roles for people; `tests/cluster/test_user_roles.py` tries these."""
ACCOUNTS = "system:serviceaccount:"
AUDIT_LOG = "audit.jsonl"


class Right(NamedTuple):
    """One verb on one resource; a subresource is part of the resource's name."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{f'.{self.group}' if self.group else ''}"


UNUSED_ON_PURPOSE = {
    Right(
        "route.openshift.io", "routes/custom-host", verb
    ): "only OpenShift's admission asks for it"
    for verb in ("get", "list", "watch", "patch", "update")
}
"""Rights that no API server of ours asks for, with the reason."""


def granted(folder: Path = MANIFESTS) -> dict[Right, set[str]]:
    """Each right of the controller, with the names of the roles that grant it."""
    found: dict[Right, set[str]] = {}
    for path in sorted(folder.rglob("*.yaml")):
        if path.name == PEOPLE:
            continue
        for document in yaml.safe_load_all(path.read_text()):
            if isinstance(document, dict) and document.get("kind") in ("ClusterRole", "Role"):
                for right in _rights(document.get("rules") or ()):
                    found.setdefault(right, set()).add(document["metadata"]["name"])
    return found


def used(folders: Iterable[Path]) -> Counter[Right]:
    """How often each right was used, in every audit log below the folders."""
    counted: Counter[Right] = Counter()
    for folder in folders:
        for path in folder.rglob(AUDIT_LOG):
            counted.update(_right(r) for r in AuditLog(path).since(where=_by_a_right))
    return counted


def never_used(rights: Iterable[Right], counted: Counter[Right]) -> list[Right]:
    """The rights that no request needed and that have no reason to be there without."""
    return sorted(r for r in rights if not counted[r] and r not in UNUSED_ON_PURPOSE)


def main(arguments: Sequence[str]) -> int:
    """Print the rights with the number of their uses; 1 if one was never used."""
    folders = [Path(argument) for argument in arguments]
    if not folders or not all(folder.is_dir() for folder in folders):
        sys.stderr.write("usage: python -m tests.rights FOLDER…, each with audit logs of a run\n")
        return 2
    rights, counted = granted(), used(folders)
    unused = never_used(rights, counted)
    console = Console()
    table = Table("right", "granted by", "requests")
    for right, roles in sorted(rights.items()):
        table.add_row(str(right), ", ".join(sorted(roles)), str(counted[right]))
    console.print(table)
    console.print(f"{len(rights)} rights, {len(unused)} of them used by no test")
    for right in unused:
        console.print(f"  {right}: {', '.join(sorted(rights[right]))}")
    return 1 if unused else 0


def _rights(rules: Iterable[dict[str, list[str]]]) -> Iterator[Right]:
    for rule in rules:
        for group in rule.get("apiGroups", ()):
            for resource in rule.get("resources", ()):
                for verb in rule.get("verbs", ()):
                    yield Right(group, resource, verb)


def _right(record: AuditRecord) -> Right:
    subresource = f"/{record.subresource}" if record.subresource else ""
    return Right(record.api_group, f"{record.resource}{subresource}", record.verb)


def _by_a_right(record: AuditRecord) -> bool:
    """Whether the authorizer let a request of the controller pass."""
    ours = record.user_agent.startswith(f"{USER_AGENT} ") and record.user.startswith(ACCOUNTS)
    return ours and not record.is_forbidden


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
