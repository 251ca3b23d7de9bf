"""A text is read once, from its begin to its end: the places are those that a look back from each word finds."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.gates import in_body, in_job, in_query, in_request
from controller.domain.gates.in_body import Place
from controller.domain.gates.origins import Origin, Placed, Reader, Unplaced, Word, joined

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|[^u])", re.DOTALL)
_REFERENCE = re.compile(r"(?<!\$)(?:\$\$)*\$(?:\([^)]*)?")
_QUOTED = re.compile(r"\\(?:\\|x5c|134|u005c|U0000005c)$", re.IGNORECASE)


def pieces(alphabet: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.text(alphabet, max_size=8), max_size=6)


def place_in_json(before: str) -> Place:
    """The place by a look back at the whole text."""
    _, quotation_mark, string = _STRING.sub("", before).partition('"')
    if not quotation_mark:
        return Place.OUTSIDE
    return Place.ESCAPE if "\\" in _ESCAPE.sub("", string) else Place.STRING


@given(pieces('"\\u0aZ \n{'))
def test_a_place_in_json_is_the_same_read_in_any_pieces(texts: list[str]) -> None:
    reader = in_body._Json()
    for text in texts:
        reader.on(text)
    assert reader.place is place_in_json("".join(texts))


@given(pieces("$()a"))
def test_a_reference_in_an_environment_is_the_same_read_in_any_pieces(texts: list[str]) -> None:
    before = "".join(texts)
    is_open = any(found.end() == len(before) for found in _REFERENCE.finditer(before))
    made = joined([*texts, Placed("args.x", Word("x", Origin.OTHERS))], in_job._Environment())
    assert isinstance(made, Unplaced) is is_open


@given(pieces("/.%2eE?#a"), st.sampled_from(["", ".", "..", "a"]))
def test_a_folder_of_an_address_is_the_same_read_in_any_pieces(texts: list[str], word: str) -> None:
    before = "http://a/" + "".join(texts)
    in_path = "?" not in before and "#" not in before
    folder = re.sub("%2e", ".", before.rpartition("/")[2], flags=re.IGNORECASE)
    refused = in_path and not (folder + word).strip(".")
    placed = Placed("args.x", Word(word, Origin.OTHERS))
    made = in_request.in_address(["http://a/", *texts, placed])
    assert made == (Unplaced("args.x", in_request.FOLDER) if refused else before + word)


class _ByCharacter:
    """A query read character by character, with all of it at hand."""

    def __init__(self, text: str) -> None:
        self.quote = self.before = self.string = ""
        self.escaped = self.comment = self.regex = False
        self.open: list[str] = []
        for char in text:
            if self.comment:
                self.comment = char not in "\r\n"
            elif self.quote:
                self._in_string(char)
            else:
                self._outside(char)

    def _in_string(self, char: str) -> None:
        if self.escaped:
            self.escaped = False
        elif char == "\\" and self.quote != "`":
            self.escaped = True
        elif char == self.quote:
            self.quote, self.regex = "", False
        self.string += char

    def _outside(self, char: str) -> None:
        if char == "#":
            self.comment = True
            return
        if char in "\"'`":
            self.quote, self.string = char, ""
            self.regex = self.before.rstrip().endswith(("=~", "!~"))
        elif char in "({[":
            self.open.append(char)
        elif char in ")}]" and self.open:
            self.open.pop()
        self.before += char

    @property
    def place(self) -> tuple[object, ...]:
        last = self.before.rstrip()[-1:]
        slash = self.quote and (
            self.string.endswith("\\") if self.quote == "`" else _QUOTED.search(self.string)
        )
        label = self.open[-1:] == ["{"]
        return self.quote, self.escaped, self.comment, self.regex, label, bool(slash), last


@given(pieces("\"'`\\x5cCu0#\r\n {}()=~!1"))
def test_a_place_in_a_query_is_the_same_read_in_any_pieces(texts: list[str]) -> None:
    read = in_query._Reader()
    for text in texts:
        read.on(text)
    slash = bool(read.quote) and read.ends_in_backslash
    last = read.before.rstrip()[-1:]
    found = (read.quote, read.escaped, read.comment, read.regex, read.is_label_value, slash, last)
    assert found == _ByCharacter("".join(texts)).place


@pytest.mark.parametrize(
    ("reader", "begin"),
    [
        (in_query._Reader, '"'),
        (in_query._Reader, "a="),
        (in_query._Reader, "#"),
        (in_body._Json, '"'),
        (in_body._Json, '{"a": "\\u0'),
        (in_job._Environment, "$("),
        (in_request._Address, "http://a/"),
    ],
)
def test_a_reader_keeps_no_more_of_a_longer_text(reader: Callable[[], Reader], begin: str) -> None:
    """The kept text is copied or searched again for each word, so that it may not grow."""

    def kept(words: int) -> int:
        read = reader()
        read.on(begin)
        read.put(Placed("x", Word("x", Origin.OTHERS))) if not isinstance(
            read, in_query._Reader
        ) else None
        for _ in range(words):
            read.on("x1 ")
        return sum(len(part) for part in vars(read).values() if isinstance(part, str | list))

    assert kept(1000) == kept(100)


def test_joining_reads_each_character_once() -> None:
    seen = 0

    class Counting:
        def on(self, text: str) -> None:
            nonlocal seen
            seen += len(text)

        def put(self, placed: Placed) -> str:
            return placed.word.text

    made = joined(["a", *[Placed("x", Word("xyz", Origin.OTHERS))] * 500], Counting())
    assert isinstance(made, str)
    assert seen == len(made) == 1501


def test_what_follows_a_word_of_a_query_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name outside of quotation marks may call what follows it, also behind comments."""
    read = 0

    class Counting:
        def match(self, text: str, at: int) -> None:
            nonlocal read
            found = re.match(r"(?:\s|#[^\r\n]*+)*+", text[at:])
            read += found.end() if found else 0

    monkeypatch.setattr(in_query, "_CALL", Counting())
    words = ["a", *[part for _ in range(300) for part in (" # \r ", others())]]
    assert isinstance(in_query.in_query(words), str)
    assert read <= sum(len(one) for one in words if isinstance(one, str))


def others() -> Placed:
    return Placed("args.x", Word("up", Origin.OTHERS))


def test_a_comment_ends_at_a_carriage_return_and_hides_no_call() -> None:
    made = in_query.in_query([others(), " # why\r(up)"])
    assert made == Unplaced("args.x", in_query.FUNCTION)


def test_a_long_folder_is_no_folder_of_dots_that_ends_somewhere() -> None:
    placed = Placed("args.x", Word(".", Origin.OTHERS))
    assert in_request.in_address(["http://a/" + "." * 99, placed]) == Unplaced(
        "args.x", in_request.FOLDER
    )
    assert in_request.in_address(["http://a/" + "a" * 99, placed]) == f"http://a/{'a' * 99}."
