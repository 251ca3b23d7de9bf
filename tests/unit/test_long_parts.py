"""Each long test belongs to one part, and the date of the commit chooses a part."""

import re
import subprocess
import sys
from collections import Counter
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.conftest import HERE
from tests.long_parts import PARTS, THOROUGH, Part, arguments_of, due, run, shares

ROOT = HERE.parent
MARK = "mark.full"
SAMPLES = "from tests.examples import"
DAY = date(2026, 11, 27)


def files_with_long_tests() -> set[str]:
    """Files below `tests` that mark a test as long, and files whose tests come from a table with such marks."""
    marking = {
        path.relative_to(HERE).as_posix()
        for path in HERE.rglob("*.py")
        if MARK in path.read_text(encoding="utf-8") and path != Path(__file__)
    }
    assert "cluster/table.py" in marking
    of_the_table = {
        path.relative_to(HERE).as_posix()
        for path in HERE.rglob("test_*.py")
        if re.search(r"cluster\.table import .*sampled", path.read_text(encoding="utf-8"))
    }
    return (marking | of_the_table) - {"cluster/table.py"}


def covers(part: Part, file: str) -> bool:
    return any(file == path or file.startswith(f"{path}/") for path in part.paths)


def files_with_samples() -> set[str]:
    """Files whose properties try a sample of their examples in `make test`."""
    return {
        path.relative_to(HERE).as_posix()
        for path in HERE.rglob("test_*.py")
        if SAMPLES in path.read_text(encoding="utf-8") and path != Path(__file__)
    }


def only_long_ones(part: Part) -> bool:
    return part.marked == "full"


@pytest.mark.parametrize("file", sorted(files_with_long_tests()))
def test_each_file_with_long_tests_belongs_to_one_family_of_parts(file: str) -> None:
    families = {part.paths for part in PARTS if only_long_ones(part) and covers(part, file)}
    assert len(families) == 1, file


@pytest.mark.parametrize("file", sorted(files_with_samples()))
def test_a_part_tries_all_examples_where_the_usual_run_tries_a_sample(file: str) -> None:
    found = [part for part in PARTS if part.environment == THOROUGH and covers(part, file)]
    assert len(found) == 1, file


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_names_paths_that_exist(part: Part) -> None:
    assert [path for path in part.paths if not (HERE / path).exists()] == []


def test_the_shares_of_a_family_are_complete() -> None:
    found: dict[tuple[str, ...], list[str]] = {}
    for part in PARTS:
        found.setdefault(part.paths, []).append(part.share)
    for paths, of_one in found.items():
        assert of_one == [f"{turn}/{len(of_one)}" for turn in range(1, len(of_one) + 1)], paths


def test_each_part_has_its_turn_once_in_as_many_days() -> None:
    turns = Counter(due(DAY + timedelta(days=day)) for day in range(len(PARTS)))
    assert turns == Counter(range(len(PARTS)))


def test_the_shares_have_every_test_once() -> None:
    (everything,) = shares(1, "some", "unit/test_second_try.py")
    found = [test for part in shares(3, "some", *everything.paths) for test in collected(part)]
    assert len(found) > 3
    assert sorted(found) == sorted(collected(everything))


def collected(part: Part) -> list[str]:
    """The tests that pytest collects for a share."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    paths = [f"tests/{path}" for path in part.paths]
    command += [f"--share={part.share}", *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_a_part_asks_pytest_for_its_long_tests_only() -> None:
    part = Part("some", ("kill", "faults"), share="2/3")
    assert arguments_of(part) == ["tests/kill", "tests/faults", "-m", "full", "--share=2/3"]


def test_a_red_part_fails_the_run_and_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    nothing = Part("nothing", ("unit/test_long_parts.py",))
    assert run(nothing, "Part 1", ["--collect-only", "-q", "-p", "no:cacheprovider"]) != 0
    out = capfd.readouterr().out
    assert "Part 1: nothing (unit/test_long_parts.py)" in out
    assert "Long tests, nothing: FAILED after 0 min" in out
