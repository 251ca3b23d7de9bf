"""The shape of the source in figures: `make stats`, beside its size (`stats`).

Invariant: counted from syntax trees and names alone, so that a figure means the same before and after a change.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from controller.domain.decision import Action
from tests.unit.documents.stats import ROOT, files

DOMAIN = ROOT / "controller" / "domain"
RELEASES = DOMAIN / "rollout"
EVERYTHING_SEEN = ("Release", "ReleaseContext")
NOTHING = ("None", "()", "False", "0", "''")
MIRRORED = ("__init__.py", "__main__.py", "builders.py")
"""Names that every room may have."""


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def takers_of_both() -> list[str]:
    """Functions of decisions that take the observation of a release and its status apart."""
    found = []
    for path in files("controller/domain"):
        for node in functions(path):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            types = {ast.unparse(one.annotation) for one in given if one.annotation is not None}
            if "RolloutStatus" in types and types.intersection(EVERYTHING_SEEN):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    return found


def readers_of_the_stored_status() -> list[str]:
    """Lines of decisions about a release that ask for the status a crash would find."""
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files("controller/domain/rollout")
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if ".stored" in line or "seen.rollout.status" in line
    ]


def empty_methods() -> list[str]:
    """Methods of mechanisms that answer that there is nothing to do, whatever they are asked; without the inherited
    ones, which the base class has once.
    """
    return [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in files("controller/domain/rollout/moving")
        for owner in ast.walk(ast.parse(path.read_text()))
        if isinstance(owner, ast.ClassDef) and owner.name != "Mechanism"
        for node in owner.body
        if isinstance(node, ast.FunctionDef) and _returns_nothing(node)
    ]


def _returns_nothing(node: ast.FunctionDef) -> bool:
    body = [part for part in node.body if not _is_text(part)]
    only = body[0] if len(body) == 1 else None
    return isinstance(only, ast.Return) and (
        only.value is None or ast.unparse(only.value) in NOTHING
    )


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def files_of_rooms() -> dict[str, int]:
    """The number of files in each room of `domain/rollout`."""
    rooms = Counter(path.parent for path in files("controller/domain/rollout"))
    return {str(room.relative_to(DOMAIN)): number for room, number in sorted(rooms.items())}


def repeated_names() -> dict[str, int]:
    """Names of files that the controller has more than once. The worker is another program, with logs of its own."""
    names = Counter(path.name for path in files("controller"))
    return {name: number for name, number in names.items() if number > 1 and name not in MIRRORED}


def lines_of_code(path: Path) -> int:
    """Lines of a file without blank ones, comments and docstrings."""
    text = path.read_text()
    said = {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(
        1
        for number, line in enumerate(text.splitlines(), start=1)
        if number not in said and line.strip() and not line.lstrip().startswith("#")
    )


def main() -> int:
    """Print the counts."""
    code = sum(map(lines_of_code, files("controller")))
    rooms = ", ".join(f"{room} {number}" for room, number in files_of_rooms().items())
    for name, figure in (
        ("lines of code of controller", code),
        ("functions that take a release and a status", len(takers_of_both())),
        ("reads of the stored status", len(readers_of_the_stored_status())),
        ("actions", len(get_args(Action))),
        ("empty methods of mechanisms", len(empty_methods())),
        ("files per room", rooms),
        ("names of files that stand more than once", len(repeated_names())),
    ):
        sys.stdout.write(f"{name}: {figure}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
