"""A deliberate defect, as data: one small replacement in one source file, and the tests that have to notice.

Its name states the defect. `tests` are below `tests`: files, or the one test of a file that is named to notice it
(`FILE::TEST`).
"""

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
RELEASES = "rollout/test_releases.py"
DISTURBANCES = "rollout/test_disturbances.py"
STABLE_CAPACITY = "rollout/test_stable_capacity.py"
AUTOSCALERS = "rollout/test_autoscalers.py"
ABANDONED = "rollout/test_abandoned_from_zero.py"
ABANDONED_PODS = "rollout/test_abandoned.py"
ABANDONED_IN_SETS = "rollout/test_abandoned_pods.py"
BEHIND = "rollout/test_behind.py"
OBSTACLES = "rollout/test_obstacles.py"
APPROVALS = "rollout/test_approvals.py"
ROUTING = "rollout/test_routing.py"
REHEARSAL = "rollout/test_routing_rehearsal.py"
FROM_ZERO = "rollout/test_from_zero.py"
JUMP = "rollout/test_jump.py"
LEFT_OUT = "rollout/test_left_out.py"
RESTORING = "rollout/test_restoring.py"
NAMED_IN_TIME = "rollout/test_named_in_time.py"
SHARED_ROUTES = "trafficrouting/test_teardown.py"
SHARED_CAPACITY = "trafficrouting/test_stable_pods.py"
PHASES = "rollout/test_phases.py"
ROLLING_LIMITS = "pods/test_rolling_limits.py"
LABELS = "pods/test_batches_and_labels.py"
CONTENT = "rollout/test_config_release.py"
CONTENT_LOST = "rollout/test_config_obstacles.py"
RETURNING = "rollout/test_returning.py"
DOUBLED = "rollout/test_doubled.py"
DOUBLING = "pods/test_doubling.py"
MACHINE = "unit/simulation/test_machine.py"
"""Random releases under everything that can come in between."""


class Mutation(NamedTuple):
    """Replace `old` (which occurs once) in `module` by `new`."""

    name: str
    module: str
    old: str
    new: str
    tests: tuple[str, ...]


def source_of(mutation: Mutation) -> Path:
    """The file a mutation changes."""
    return ROOT.joinpath(*mutation.module.split(".")).with_suffix(".py")


def mutated_source(mutation: Mutation) -> str:
    """The text of that file with the mutation in it."""
    text = source_of(mutation).read_text(encoding="utf-8")
    return text.replace(mutation.old, mutation.new)


def _files(first: str) -> tuple[str, ...]:
    files = (first, OBSTACLES) if first == DISTURBANCES else (first,)
    return tuple(f"unit/domain/{file}" for file in files)


def named(module: str, *rows: tuple[str, str, str, str]) -> tuple[Mutation, ...]:
    """Rows of name, old, new, and the test that has to notice: its file below `tests`, `::`, its name."""
    return tuple(Mutation(row[0], module, row[1], row[2], (row[3],)) for row in rows)


def of(
    module: str, *rows: tuple[str, str, str] | tuple[str, str, str, str]
) -> tuple[Mutation, ...]:
    """Rows of name, old, new and, where it is not the usual one, the test file."""
    usual = {
        "beginning": DISTURBANCES,
        "release": DISTURBANCES,
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
            old=row[1],
            new=row[2],
            tests=_files(
                row[3] if len(row) == 4 else usual.get(module.rpartition(".")[2], RELEASES)
            ),
        )
        for row in rows
    )
