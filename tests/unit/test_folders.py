"""A laboratory that tests share is a folder of tests: a misspelled name would leave its tests in two processes."""

from tests.conftest import HERE, LABORATORIES, LONGEST_FIRST

TOGETHER = 'scope="package"'
RINGS = {"cluster"}
"""Folders whose files are played side by side; each process has a plane of its own."""


def test_every_laboratory_is_a_folder_with_tests() -> None:
    empty = [name for name in LABORATORIES if not [*(HERE / name).glob("test_*.py")]]
    assert empty == []


def test_tests_that_share_a_folders_fixture_stay_in_one_process() -> None:
    folders = {
        file.parent.relative_to(HERE).as_posix()
        for file in HERE.rglob("conftest.py")
        if TOGETHER in file.read_text()
    }
    assert folders - RINGS <= set(LABORATORIES)


def test_every_group_that_begins_first_is_there() -> None:
    assert [group for group in LONGEST_FIRST if not (HERE / group).exists()] == []
