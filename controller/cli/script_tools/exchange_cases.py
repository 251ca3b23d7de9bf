"""Cases of scripts that ask: the input, and for each turn the requests that are expected and their answers.

A secret's mark stands in a case as `${name}`, in expected requests and anywhere else. Invariant: reading never raises;
a file that cannot be used says why, and counts as failed. A case has no value of a secret, because there is none here.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from controller.api.analysis import SecretKey
from controller.cli.files import read_text
from controller.cli.script_tools.cases import BadCase, Unusable
from controller.cli.script_tools.yaml_text import read_yaml
from controller.domain.exchange.marks import BYTES_OF_A_MARK, Marks, marks_for
from controller.domain.exchange.turn_input import (
    Answered,
    HttpAnswer,
    ObjectAnswer,
    Question,
    turn_input,
)
from controller.domain.traffic.tree import Json, Tree, encode

_KEYS = frozenset({"name", "docs", "input", "secrets", "exchanges", "expect"})
_NOT_ABOUT = frozenset({"params", "id", "now", "state"})


class Exchange(msgspec.Struct, frozen=True):
    """One turn: the requests that the script has to make after `again` seconds, and the answers."""

    requests: tuple[Tree, ...]
    answers: tuple[Answered, ...]
    again: Json = None


class AskingCase(msgspec.Struct, frozen=True):
    """A case that can be run. `input` is the first turn's `obj` without secrets and turn."""

    path: Path
    input: Tree
    secrets: tuple[str, ...]
    exchanges: tuple[Exchange, ...]
    expect: Tree

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @property
    def marks(self) -> Marks:
        """The texts that the script sees instead of secrets: the same in every run, unlike the controller's."""
        entropy = hashlib.shake_256(self.name.encode()).digest(BYTES_OF_A_MARK * len(self.secrets))
        return marks_for({name: SecretKey(name, name) for name in self.secrets}, entropy)

    @property
    def params(self) -> Tree:
        """The parameters that the script is given."""
        given = self.input.get("params")
        return given if isinstance(given, dict) else {}

    @property
    def state(self) -> Tree | None:
        """The state that an earlier run left, for a check that goes on."""
        given = self.input.get("state")
        return given if isinstance(given, dict) else None

    def obj(self, turn: int, state: Tree | None, answers: tuple[Answered, ...]) -> bytes:
        """The global `obj` of one turn."""
        about = {key: item for key, item in self.input.items() if key not in _NOT_ABOUT}
        question = Question(self.params, str(self.input.get("id", "case")), about)
        now = self.input.get("now")
        return turn_input(
            question, self.marks, now if isinstance(now, int) else 0, turn, answers, state
        )

    def shown(self, value: Json) -> Json:
        """A value of the script as a case writes it: marks by their names."""

        marks = self.marks.by_name.items()

        def by_name(text: str) -> str:
            for name, mark in marks:
                text = text.replace(mark, f"${{{name}}}")
            return text

        return _with_texts(value, by_name)


def _with_texts(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, dict):
        return {key: _with_texts(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_texts(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value


def read_exchanges(path: Path) -> AskingCase | BadCase:
    """The case in a file."""
    try:
        return _case(path, read_yaml(read_text(path)))
    except (OSError, ValueError) as problem:
        return BadCase(path, str(problem))


def _case(path: Path, content: Json) -> AskingCase:
    if not isinstance(content, dict) or not isinstance(content.get("input"), dict):
        raise Unusable(
            "a case is a map with the keys input, exchanges and expect; input is missing"
        )
    if unknown := ", ".join(sorted(content.keys() - _KEYS)):
        raise Unusable(f"unknown keys: {unknown}; known: {', '.join(sorted(_KEYS))}")
    given, secrets, expect = content["input"], content.get("secrets") or [], content.get("expect")
    if not isinstance(expect, dict) or not expect:
        raise Unusable("expect is missing: the script's last answer, or error with its words")
    if not isinstance(secrets, list) or not all(isinstance(name, str) for name in secrets):
        raise Unusable("secrets is no list of names")
    listed = content.get("exchanges") or []
    if not isinstance(listed, list):
        raise Unusable("exchanges is no list: it has one entry for each turn that asks")
    assert isinstance(given, dict)
    exchanges = tuple(_exchange(number, item) for number, item in enumerate(listed, 1))
    return AskingCase(path, given, tuple(str(name) for name in secrets), exchanges, expect)


def _exchange(turn: int, item: Json) -> Exchange:
    if not isinstance(item, dict):
        raise Unusable(f"exchange {turn} is no map with request and answer")
    requests = _several(item, "request", turn)
    answers = tuple(_answer(answer) for answer in _several(item, "answer", turn))
    if len(requests) != len(answers):
        raise Unusable(f"exchange {turn} has {len(requests)} requests and {len(answers)} answers")
    return Exchange(requests, answers, item.get("again"))


def _several(item: Tree, word: str, turn: int) -> tuple[Tree, ...]:
    """`request: …`, or `requests: […]`."""
    listed = item.get(f"{word}s", [item.get(word)])
    if not isinstance(listed, list) or not listed:
        raise Unusable(f"exchange {turn} has no {word}")
    found = tuple(one for one in listed if isinstance(one, dict))
    if len(found) != len(listed):
        raise Unusable(f"exchange {turn} has a {word} that is no map")
    return found


def _answer(answer: Tree) -> Answered:
    """A body that is a tree is sent as JSON text."""
    found, status = answer.get("object"), answer.get("status", 200)
    if isinstance(found, dict) or answer.keys() == {"status"}:
        return ObjectAnswer(found if isinstance(found, dict) else None)
    headers, body = answer.get("headers"), answer.get("body", "")
    pairs = headers.items() if isinstance(headers, dict) else ()
    return HttpAnswer(
        status if isinstance(status, int) else 200,
        tuple((key.lower(), str(item)) for key, item in pairs),
        body if isinstance(body, str) else encode(body).decode(),
    )
