"""Which examples property tests try, and which tests share a process.

Why examples: a test that fails for one in ten thousand examples tells of a defect to be found by looking for it, not by
whoever runs the tests next. So `make test` tries the same examples each time, and `make test-full` looks for new ones.

Why processes: most tests of the cluster ring wait far more than they compute, so several processes run them side by
side, each with a control plane of its own. Tests that share something expensive (a plane with OpenKruise's manager, the
laboratory of the kill tests) stay in one process, and the longest of these groups begin first.
"""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("quick", derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.register_profile("long", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("MOONSHIFT_PROFILE", "quick"))

HERE = Path(__file__).parent
LONGEST_FIRST = ("node", "kill", "kruise", "trouble", "traffic")
"""Groups of tests that share one laboratory, plane or network."""
LABORATORIES = ("contract", "kill", "node", "traffic", "trouble")
"""Rings whose tests share one laboratory."""
SPREAD = ("cluster", "mutations")
"""Rings whose tests may run in any process, one by one."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name the process group of each test, and put the longest groups first."""
    for item in items:
        group = _group(item)
        if group:
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_longest_groups_first(items: list[pytest.Item]) -> None:
    """Order the groups after pytest-randomly has shuffled the tests."""
    items.sort(key=_rank)


def _group(item: pytest.Item) -> str:
    ring = item.path.relative_to(HERE).parts[0]
    if ring in LABORATORIES:
        return ring
    if any(name.startswith("kruise_") for name in getattr(item, "fixturenames", ())):
        return "kruise"
    return "" if ring in SPREAD else item.path.relative_to(HERE).as_posix()


def _rank(item: pytest.Item) -> int:
    group = _group(item)
    if group in LONGEST_FIRST:
        return LONGEST_FIRST.index(group)
    return len(LONGEST_FIRST) if not group else len(LONGEST_FIRST) + 1
