"""The search for a Secret in an answer, which everything else of the process waits for."""

import string

import pytest

from controller.outbound.confidential import LONGEST_TEXTS, repeated_in_answer, repeated_in_refusal
from controller.outbound.fetching import MAX_BYTES_OF_REFUSAL


class CountedLooks(bytes):
    """An answer that counts how often the whole of it is searched."""

    searched = 0

    def __contains__(self, part: object) -> bool:
        self.searched += 1
        return super().__contains__(part)  # type: ignore[operator]  # bytes takes what it can find


def test_a_long_secret_costs_one_walk_through_the_answer_and_not_one_for_each_part() -> None:
    secret = "".join(f"{number:08}" for number in range(LONGEST_TEXTS // 8))
    answer = CountedLooks(string.ascii_letters.encode() * (MAX_BYTES_OF_REFUSAL // 52))
    assert not repeated_in_refusal(answer, (secret,))
    assert answer.searched < 8  # once for each sign that begins an escape


@pytest.mark.parametrize(
    ("text", "body", "repeats"),
    [
        ("abcdefghij", "xx cdefghij xx", True),
        ("abcdefghij", "xx cdefghi xx", False),
        ("abc", "xabcx", True),
        ("abc", "xabx", False),
        ("\u20acuro\u20acuro", "a \u20acuro\u20acuro", True),
        ("abc", "", False),
    ],
)
def test_a_part_is_found_wherever_it_stands(text: str, body: str, repeats: bool) -> None:
    assert repeated_in_refusal(body.encode(), ("something else", text)) == repeats


def test_a_short_secret_occurs_in_any_answer() -> None:
    assert repeated_in_answer(b"12345678", ("12345678",))
    assert not repeated_in_answer(b"1234567", ("1234567",))
