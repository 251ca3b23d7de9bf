"""Tests that share something expensive stay in one process when tests run side by side."""

import subprocess
import sys

import pytest

from tests.conftest import HERE, group_of

ROOT = HERE.parent


@pytest.mark.parametrize(
    ("test", "group"),
    [
        ("tests/node/test_node.py::test_a[x/y::z]", "node"),
        ("tests/kill/test_writes.py::test_b", "kill"),
        ("tests/cluster/kruise/test_openkruise.py::test_c", "cluster/kruise"),
        ("tests/cluster/in_turn/test_fence.py::test_f", "cluster/in_turn"),
        ("tests/cluster/test_releases.py::test_d[a release]", "cluster/test_releases.py"),
        ("tests/unit/cli/test_live.py::test_e", "unit/cli/test_live.py"),
    ],
)
def test_a_test_stays_with_those_that_share_its_laboratory(test: str, group: str) -> None:
    assert group_of(test) == group


def test_processes_take_whole_files() -> None:
    """xdist's own marks were without effect, and nothing said so."""
    files = [
        "tests/unit/cli/test_durations.py",
        "tests/unit/cli/test_jsonpath.py",
        "tests/unit/cli/test_terminal.py",
    ]
    line = [
        "-m",
        "pytest",
        "-v",
        "-p",
        "no:cacheprovider",
        "--numprocesses",
        "2",
        "--dist",
        "loadgroup",
    ]
    output = subprocess.run(
        [sys.executable, *line, *files], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    places = {
        (item.split()[0], item.split("PASSED ")[1].partition("::")[0])
        for item in output.splitlines()
        if "PASSED " in item
    }
    assert len(places) == len(files)
