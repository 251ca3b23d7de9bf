"""A test that fails once is tried again and named; a test that fails twice fails the run."""

from pathlib import Path

import pytest

from tests.second_try import FEW, main

HEALTHY = "def test_healthy():\n    assert True\n"
BROKEN = "def test_broken():\n    assert False\n"
UNSTEADY = """
from pathlib import Path

def test_unsteady():
    before = Path(__file__).with_suffix(".tried")
    tried = before.exists()
    before.touch()
    assert tried
"""


def played(folder: Path, *arguments: str, **files: str) -> int:
    """The exit code for a folder of these test files, each named by its keyword."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, content in files.items():
        (folder / f"test_{name}.py").write_text(content)
    return main([f"--rootdir={folder}", "-q", "-p", "no:randomly", *arguments], folder)


def test_healthy_tests_run_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert played(tmp_path, healthy=HEALTHY) == 0
    out = capfd.readouterr().out
    assert out.count("1 passed") == 1
    assert "second" not in out


def test_an_unsteady_test_passes_and_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert played(tmp_path, healthy=HEALTHY, unsteady=UNSTEADY) == 0
    out = capfd.readouterr().out
    assert "1 failed, 1 passed" in out
    assert "assert tried" in out
    assert out.rstrip().endswith("  test_unsteady.py::test_unsteady")
    assert "UNSTEADY" in out


def test_a_test_that_fails_twice_fails_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert played(tmp_path, broken=BROKEN, unsteady=UNSTEADY) == 1
    unsteady = capfd.readouterr().out.partition("UNSTEADY")[2]
    assert "test_unsteady.py" in unsteady
    assert "test_broken.py" not in unsteady


def test_many_failures_are_not_tried_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert played(tmp_path, **{f"unsteady_{n}": UNSTEADY for n in range(FEW + 1)}) == 1
    assert "second" not in capfd.readouterr().out


def test_a_broken_collection_is_not_tried_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert played(tmp_path, healthy=HEALTHY, unreadable="import nothing_of_that_name\n") == 2
    assert "second" not in capfd.readouterr().out


def test_failures_of_an_earlier_run_are_not_tried(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert played(tmp_path, broken=BROKEN) == 1
    (tmp_path / "test_broken.py").unlink()
    capfd.readouterr()
    assert played(tmp_path, healthy=HEALTHY) == 0
    assert "test_broken" not in capfd.readouterr().out


def test_the_second_try_leaves_what_the_first_one_wrote(tmp_path: Path) -> None:
    left = f"{HEALTHY}\ndef test_left(tmp_path):\n    (tmp_path / 'audit.jsonl').touch()\n"
    base = tmp_path / "left"
    assert played(tmp_path, f"--basetemp={base}", left=left, unsteady=UNSTEADY) == 0
    assert list(base.rglob("audit.jsonl"))
