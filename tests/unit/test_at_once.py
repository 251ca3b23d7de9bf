"""A run that is ended from outside has printed the failures that it found."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import HERE

FILE = """
import os, signal

def test_a():
    assert 1 == 2, "a failure"

def test_b():
    os.kill(os.{process}(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("side_by_side", "process"),
    [([], "getpid"), (["--numprocesses", "1"], "getppid")],
    ids=["one process", "side by side"],
)
def test_a_run_that_is_killed_has_printed_its_failures(
    tmp_path: Path, side_by_side: list[str], process: str
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(FILE.format(process=process))
    line = [
        *(sys.executable, "-m", "pytest", "-p", "tests.at_once", "-p", "no:randomly"),
        *("-p", "no:cacheprovider", *side_by_side, str(tmp_path)),
    ]
    killed = subprocess.run(line, cwd=HERE.parent, capture_output=True, text=True, check=False)
    assert killed.returncode == -9
    assert "test_it.py::test_a failed in its call" in killed.stdout
    assert "AssertionError: a failure" in killed.stdout
