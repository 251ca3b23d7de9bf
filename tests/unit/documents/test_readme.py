"""The README is short, and its example is the one of `examples/first-rollout`."""

import re

import yaml

from controller.cli.script_tools.script_folders import subjects_in
from tests.unit.documents.pages import ROOT, blocks_of
from tests.unit.documents.stats import words_of_the_readme

README = ROOT / "README.md"
EXAMPLE = ROOT / "examples" / "first-rollout"
MOST_WORDS = 1300


def test_the_readme_is_short() -> None:
    assert words_of_the_readme() <= MOST_WORDS


def test_two_commands_are_enough_to_try_it() -> None:
    typed = [block.lines for block in blocks_of(README) if block.language == "sh"]
    first = [line.partition("#")[0].strip() for line in typed[0]]
    assert first == ["make demo", "make test"]


def test_the_printed_rollout_is_the_examples() -> None:
    (printed,) = ("\n".join(block.lines) for block in blocks_of(README) if block.language == "yaml")
    assert yaml.safe_load(printed) == yaml.safe_load((EXAMPLE / "rollout.yaml").read_text())


def test_the_long_page_prints_the_same_rollout() -> None:
    printed = [
        "\n".join(block.lines)
        for block in blocks_of(ROOT / "docs" / "first-rollout.md")
        if block.language == "yaml"
    ]
    assert yaml.safe_load(printed[0]) == yaml.safe_load((EXAMPLE / "rollout.yaml").read_text())


def test_the_numbers_of_kinds_are_right() -> None:
    number = len(list(subjects_in(ROOT / "lua_configuration")))
    for page in (README, ROOT / "CHANGELOG.md"):
        assert re.findall(r"(\d+) kinds and", page.read_text()) == [str(number)], page.name
