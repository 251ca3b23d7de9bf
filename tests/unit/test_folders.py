"""A laboratory that tests share is a folder of tests: a misspelled name would leave its tests in two processes."""

from tests.conftest import HERE, LABORATORIES


def test_every_laboratory_is_a_folder_with_tests() -> None:
    empty = [name for name in LABORATORIES if not [*(HERE / name).glob("test_*.py")]]
    assert empty == []
