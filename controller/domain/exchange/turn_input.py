"""The global `obj` of one turn of a script that asks.

Invariant: pure; the same question gives the same bytes. A value of a Secret is no part of it: `secrets` are marks, and
answers have been scrubbed before they come here.
"""

from collections.abc import Mapping

from controller.domain.decision.value import Value
from controller.domain.exchange.marks import Marks
from controller.domain.exchange.request import Pairs
from controller.domain.traffic.tree import Json, Tree, encode


class HttpAnswer(Value, frozen=True):
    """The answer of a server; names of headers are in small letters, the body is scrubbed text."""

    status: int
    headers: Pairs = ()
    body: str = ""


class ObjectAnswer(Value, frozen=True):
    """An object as it is, or none."""

    found: Tree | None


Answered = HttpAnswer | ObjectAnswer


class Question(Value, frozen=True):
    """The input that is the same in every turn; `about` has the fields that only one kind of script gets."""

    params: Mapping[str, Json]
    id: str
    about: Mapping[str, Json] = {}


def turn_input(
    question: Question,
    marks: Marks,
    now: int,
    turn: int,
    answers: tuple[Answered, ...] = (),
    state: Tree | None = None,
) -> bytes:
    """The input of a turn, as JSON."""
    obj: Tree = {
        **question.about,
        "params": dict(question.params),
        "secrets": {**marks.by_name},
        "now": now,
        "turn": turn,
        "id": question.id,
    }
    if turn > 1:
        obj["answers"] = [_answer(one) for one in answers]
    if state is not None:
        obj["state"] = state
    return encode(obj)


def _answer(answer: Answered) -> Json:
    if isinstance(answer, ObjectAnswer):
        if answer.found is None:
            return {"status": 404}
        return {"status": 200, "object": answer.found}
    return {"status": answer.status, "headers": dict(answer.headers), "body": answer.body}
