"""A deliberate defect, as data: one small change of one function, and the tests that have to notice.

Its name states the defect. `tests` are below `tests`: files, or the one test of a file that is named to notice it
(`FILE::TEST`). It names a function and what is changed in it, and quotes no line: a line that is moved, worded anew or
formatted otherwise leaves it as it is. If the function has gone elsewhere, `Unknown` says where one of its name is.
"""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.mutations.changes import Change
from tests.mutations.parsing import parsed
from tests.mutations.places import Unknown, definition, names_in

ROOT = Path(__file__).parents[2]
RELEASES = "rollout/test_releases.py"
DISTURBANCES = "rollout/trouble/test_disturbances.py"
STABLE_CAPACITY = "rollout/ends/test_stable_capacity.py"
AUTOSCALERS = "rollout/moving/test_autoscalers.py"
ABANDONED = "rollout/moving/test_abandoned_from_zero.py"
ABANDONED_PODS = "rollout/moving/test_abandoned.py"
ABANDONED_IN_SETS = "rollout/moving/test_abandoned_pods.py"
BEHIND = "rollout/test_behind.py"
OBSTACLES = "rollout/test_obstacles.py"
APPROVALS = "rollout/test_approvals.py"
ROUTING = "rollout/routes/test_routing.py"
REHEARSAL = "rollout/test_routing_rehearsal.py"
FROM_ZERO = "rollout/moving/test_from_zero.py"
JUMP = "rollout/approvals/test_jump.py"
LEFT_OUT = "rollout/test_left_out.py"
RESTORING = "rollout/routes/test_restoring.py"
NAMED_IN_TIME = "rollout/test_named_in_time.py"
SHARED_ROUTES = "trafficrouting/test_teardown.py"
SHARED_CAPACITY = "trafficrouting/test_stable_pods.py"
PHASES = "rollout/test_phases.py"
ROLLING_LIMITS = "pods/test_rolling_limits.py"
LABELS = "pods/test_batches_and_labels.py"
CONTENT = "rollout/moving/test_config_release.py"
CONTENT_LOST = "rollout/test_config_obstacles.py"
RETURNING = "rollout/moving/test_returning.py"
DOUBLED = "rollout/styles/test_doubled.py"
DOUBLING = "pods/test_doubling.py"
MACHINE = "unit/simulation/test_machine.py"
"""Random releases under everything that can come in between."""


class Mutation(NamedTuple):
    """Change `function` of `module`: a function, a method (`Class.method`), an inner one (`f.inner`), or a table."""

    name: str
    module: str
    function: str
    change: Change
    tests: tuple[str, ...]


def source_of(mutation: Mutation) -> Path:
    """The file a mutation changes."""
    return ROOT.joinpath(*mutation.module.split(".")).with_suffix(".py")


def mutated(mutation: Mutation) -> ast.Module:
    """The syntax tree of that file with the mutation in it."""
    tree = parsed(source_of(mutation).read_text(encoding="utf-8"))
    try:
        mutation.change(definition(tree, mutation.function))
    except Unknown as unknown:
        hint = _elsewhere(mutation) if "does not exist" in str(unknown) else ""
        raise Unknown(f"{mutation.name!r} of {mutation.module} {unknown}{hint}") from None
    return tree


def mutated_source(mutation: Mutation) -> str:
    """The text of that file with the mutation in it, without its comments."""
    return ast.unparse(mutated(mutation))


def _elsewhere(mutation: Mutation) -> str:
    package, function = mutation.module.partition(".")[0], mutation.function.rpartition(".")[2]
    found = _namesakes(package, function)
    return f"; there is {' and '.join(found)}" if found else ""


@cache
def _namesakes(package: str, function: str) -> tuple[str, ...]:
    """The functions and methods of a package that have this name, each with its module."""
    return tuple(
        ".".join((*path.relative_to(ROOT).with_suffix("").parts, name))
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in names_in(parsed(path.read_text(encoding="utf-8")))
        if name.rpartition(".")[2] == function
    )


def _files(first: str) -> tuple[str, ...]:
    files = (first, OBSTACLES) if first == DISTURBANCES else (first,)
    return tuple(f"unit/domain/{file}" for file in files)


def named(module: str, *rows: tuple[str, str, Change, str]) -> tuple[Mutation, ...]:
    """Rows of name, function, change, and the test that has to notice: its file below `tests`, `::`, its name."""
    return tuple(Mutation(row[0], module, row[1], row[2], (row[3],)) for row in rows)


def of(
    module: str, *rows: tuple[str, str, Change] | tuple[str, str, Change, str]
) -> tuple[Mutation, ...]:
    """Rows of name, function, change and, where it is not the usual one, the test file."""
    usual = {
        "beginning": DISTURBANCES,
        "release": DISTURBANCES,
        "disturbances": DISTURBANCES,
        "pause": APPROVALS,
        "phases": PHASES,
        "routing": ROUTING,
        "restoring": RESTORING,
        "teardown_order": RESTORING,
        "named_content": NAMED_IN_TIME,
        "moving": SHARED_ROUTES,
    }
    place = f"controller.domain.{module}"
    return tuple(
        Mutation(
            name=row[0],
            module=place,
            function=row[1],
            change=row[2],
            tests=_files(
                row[3] if len(row) == 4 else usual.get(module.rpartition(".")[2], RELEASES)
            ),
        )
        for row in rows
    )
