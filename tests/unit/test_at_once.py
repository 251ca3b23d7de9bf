"""A run that is ended from outside has printed the failures that it found."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.at_once import FIRST_LINES, LAST_LINES, shortened
from tests.conftest import HERE

FILE = """
import os, signal, time
from pathlib import Path

def test_a():
    assert 1 == 2, "a failure"

def test_b():
    until = time.monotonic() + 60
    while "a failure" not in Path(__file__).with_name("output").read_text():
        assert time.monotonic() < until, "nothing was printed"
        time.sleep(0.01)
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
    output = tmp_path / "output"
    with output.open("wb") as written:
        killed = subprocess.run(line, cwd=HERE.parent, stdout=written, check=False)
    assert killed.returncode == -9
    printed = output.read_text()
    assert "test_it.py::test_a failed in its call" in printed
    assert "AssertionError: a failure" in printed


def test_a_long_failure_shows_what_is_wrong_and_where() -> None:
    error = [f"E   line {number}" for number in range(200)]
    shown = shortened("\n".join(["def test_a():", *error, "", "tests/test_a.py:1: AssertionError"]))
    lines = shown.splitlines()
    assert lines[0] == "E   line 0"
    assert lines[-1] == "tests/test_a.py:1: AssertionError"
    assert len(lines) == FIRST_LINES + 1 + LAST_LINES
