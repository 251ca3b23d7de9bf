"""All tests are played, each in one run; a branch that no test takes fails its run, and a red run stops no other."""

from pathlib import Path

import pytest

from tests.conftest import HERE
from tests.runs import RUNS, Run, arguments_of, main

ROOT = HERE.parent
PRODUCT = "def larger(a, b):\n    if a > b:\n        return a\n    return b\n"
HALF = "from product import larger\n\ndef test_half():\n    assert larger(2, 1) == 2\n"
WHOLE = f"{HALF}\n\ndef test_other_half():\n    assert larger(1, 2) == 2\n"
UNSTEADY = """
from pathlib import Path

def test_unsteady():
    before = Path(__file__).with_suffix(".tried")
    tried = before.exists()
    before.touch()
    assert tried
"""
HEALTHY = "def test_healthy():\n    assert True\n"
BROKEN = "def test_broken():\n    assert False\n"
MEASURED = Run("the measured", ("measured",), measured=("product",))
OTHERS = Run("the others", ("others",))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COVERAGE_FILE", str(tmp_path / ".coverage"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "product.py").write_text(PRODUCT)
    (tmp_path / "measured").mkdir()
    (tmp_path / "others").mkdir()
    return tmp_path


def played(folder: Path, measured: str, others: str = HEALTHY) -> int:
    (folder / "measured" / "test_measured.py").write_text(measured)
    (folder / "others" / "test_others.py").write_text(others)
    arguments = [f"--rootdir={folder}", "-q", "-p", "no:randomly"]
    return main(arguments, (MEASURED, OTHERS), folder)


def test_every_test_belongs_to_one_run() -> None:
    files = [path.relative_to(ROOT).as_posix() for path in HERE.rglob("test_*.py")]
    for file in files:
        within = [
            run.name for run in RUNS if _is_in(file, run.paths) and not _is_in(file, run.without)
        ]
        assert len(within) == 1, file


def _is_in(file: str, paths: tuple[str, ...]) -> bool:
    return any(file.startswith(f"{path}/") for path in paths)


def test_paths_of_runs_exist() -> None:
    named = {path for run in RUNS for path in (*run.paths, *run.without, *run.measured)}
    assert [path for path in sorted(named) if not (ROOT / path).is_dir()] == []


def test_each_run_leaves_its_files_in_a_folder_of_its_own() -> None:
    places = {
        argument
        for run in RUNS
        for argument in arguments_of(run, ["--basetemp=left"])
        if argument.startswith("--basetemp")
    }
    assert len(places) == len(RUNS)


def test_every_branch_taken_is_green(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert played(folder, WHOLE) == 0
    assert "the measured: passed after" in capfd.readouterr().out


def test_a_branch_that_no_test_takes_is_red_and_named(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert played(folder, HALF) != 0
    out = capfd.readouterr().out
    assert "product.py" in out
    assert "the measured: FAILED after" in out
    assert "the others: passed after" in out


def test_a_second_try_does_not_hide_a_branch_that_no_test_takes(folder: Path) -> None:
    assert played(folder, HALF + UNSTEADY) != 0


def test_branches_of_the_first_try_count_where_a_test_is_tried_again(folder: Path) -> None:
    assert played(folder, WHOLE + UNSTEADY) == 0


def test_a_red_run_does_not_keep_the_others_from_being_played(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert played(folder, BROKEN) == 1
    assert "the others: passed after" in capfd.readouterr().out


def test_any_red_run_makes_all_red(folder: Path) -> None:
    assert played(folder, WHOLE, BROKEN) == 1
