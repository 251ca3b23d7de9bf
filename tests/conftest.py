"""The examples of property tests, the tests that share a process, and the place of byte code.

Why examples: `make test` tries the same examples each time, so that a rare failure does not surprise a person who
changed something else. `make test-full` tries new examples, and finds such failures.

Why processes: most tests of the cluster ring wait far more than they compute, so several processes run them side by
side, each with a control plane of its own. Tests that share something expensive (a plane with OpenKruise's manager,
the laboratory of the kill tests, releases that a file plays at the same time) stay in one process, and the longest of
these groups begin first. The groups are ours, not xdist's marks: its release 3.8 adds them to an attribute that pytest
9.2 no longer has, and says nothing.

Not all groups may run side by side: requests at a steady rate through a real gateway are lost where other tests take
all the time. `make test` plays them in a run of their own, in one process (`tests/runs.py`).

Why shares: the long tests are run in fixed parts (`tests/long_parts.py`), and some folders are too long for one part.

Why byte code: these tests start hundreds of Python processes, and each would compile all sources again where
PYTHONDONTWRITEBYTECODE is set. Byte code goes to a folder of its own, so that wish is kept: none lies beside a source.
"""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.constants import load_all_modules

pytest_plugins = ("tests.at_once",)

# No property fails by the clock: how long an example takes to be made is a matter of the machine's other work.
UNTIMED = settings(deadline=None, suppress_health_check=(HealthCheck.too_slow,))
settings.register_profile("quick", UNTIMED, derandomize=True)
settings.register_profile("thorough", UNTIMED, max_examples=500)
settings.register_profile("long", UNTIMED, max_examples=2000)
settings.load_profile(os.environ.get("MOONSHIFT_PROFILE", "quick"))

HERE = Path(__file__).parent
if sys.dont_write_bytecode:
    sys.pycache_prefix = str(HERE.parent / "build" / "bytecode")
    sys.dont_write_bytecode = False
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
LABORATORIES = (
    *("contract", "faults", "kill", "node", "traffic", "trouble"),
    *("cluster/admission", "cluster/in_turn", "cluster/kruise"),
)
"""Folders whose tests share one laboratory."""
LONGEST_FIRST = (
    *("node", "trouble", "kill", "faults", "traffic", "mutations/test_mutations.py", "contract"),
    *("cluster/kruise", "cluster/in_turn"),
    *(
        f"cluster/test_{name}.py"
        for name in (
            "releases",
            "demo",
            "replays",
            "gates",
            "gateways",
            "self_heal",
            "every_kind",
            "workloads",
        )
    ),
)
"""Groups that take minutes. All others of the cluster ring come next, so that the ring's shared fixtures end with it.
"""


class Grouped(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Gives each process whole groups."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Every process draws the same examples of a property."""
    if is_hypothesis_test(getattr(item, "obj", None)):
        load_all_modules()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Grouped | None:
    """Use our groups if groups are requested."""
    return Grouped(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses a share of the tests."""
    parser.addoption(
        "--share", metavar="K/N", help="every N-th of the selected tests, from the K-th"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the groups after pytest-randomly has shuffled the tests, each in one piece: its laboratory ends with it."""
    if share := config.getoption("--share"):
        _keep_share(share, config, items)
    places: dict[str, tuple[int, int]] = {}
    for item in items:
        group = group_of(item.nodeid)
        places.setdefault(group, (_rank(group), len(places)))
    items.sort(key=lambda item: places[group_of(item.nodeid)])


def group_of(nodeid: str) -> str:
    """The group that a test stays in: its laboratory, or its file.

    A file of the cluster ring is one group, because its releases are played at the same time: begun in two processes,
    all of them would be played twice.
    """
    file = Path(nodeid.partition("::")[0]).relative_to(HERE.name)
    for folder in file.parents:
        if folder.as_posix() in LABORATORIES:
            return folder.as_posix()
    return file.as_posix()


def _keep_share(share: str, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of other shares. The order of names decides, so each run has the same shares."""
    turn, number = map(int, share.split("/"))
    kept = set(sorted(item.nodeid for item in items)[turn - 1 :: number])
    others = [item for item in items if item.nodeid not in kept]
    items[:] = [item for item in items if item.nodeid in kept]
    config.hook.pytest_deselected(items=others)


def _rank(group: str) -> int:
    if group in LONGEST_FIRST:
        return LONGEST_FIRST.index(group)
    return len(LONGEST_FIRST) + (not group.startswith("cluster/"))
