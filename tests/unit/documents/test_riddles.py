"""No sentence of the repository is a riddle, and the list of riddles finds the bad samples and no good one."""

import pytest

from tests.unit.documents.prose import of_page, of_source
from tests.unit.documents.riddles import all_riddles, riddles

BAD = (
    "A release stops at that which it cannot read.",
    "The cache drops what nobody needs.",
    "The worker waits for being asked.",
    "Look how it stands.",
    "A missing right is said in the condition.",
    "An Event tells of the change.",
    "The Rollout was edited mid-release.",
    "No Ingress can say 0.5 %.",
    "What a script prints is cut.",
    "Whoever waits is woken.",
)
GOOD = (
    "A release stops at an object that it cannot read.",
    "The cache drops objects that nobody needs.",
    "What does the release wait for?",
    "The client is told to ask again.",
    "`moonshift why` says what the release waits for.",
    "Say what to do.",
)


def test_no_sentence_has_to_be_read_twice() -> None:
    assert all_riddles() == []


@pytest.mark.parametrize("sentence", BAD)
def test_a_riddle_is_found_with_its_place(sentence: str) -> None:
    broken = sentence.replace(" ", "\n", 2)
    (found, *_) = riddles(of_page("page.md", f"# Title\n\n{broken}\n"))
    assert found.startswith("page.md:3: ")
    assert found.endswith(sentence)


@pytest.mark.parametrize(
    "source",
    ['def f():\n    """%s"""\n', "# %s\n", 'say("%s")\n', 'say(f"{name}: %s")\n'],
    ids=["docstring", "comment", "message", "formatted message"],
)
def test_a_riddle_is_found_in_every_kind_of_prose(source: str) -> None:
    text = "The cache drops what nobody needs."
    assert len([*riddles(of_source("x.py", source % text))]) == 1


@pytest.mark.parametrize("sentence", GOOD)
def test_a_plain_sentence_is_no_riddle(sentence: str) -> None:
    assert [*riddles(of_page("page.md", sentence))] == []


def test_fenced_blocks_are_no_prose() -> None:
    assert [*riddles(of_page("page.md", f"```\n{BAD[0]}\n```\n"))] == []
