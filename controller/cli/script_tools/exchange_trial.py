"""Runs a case of a script that asks: turn by turn, with the case's answers, and says where it differs.

Requests are compared field by field in one form: the method that is meant, header names in small letters, values of a
query and a form as the texts that are sent. Each answer is judged by the controller's own rules first. Invariant:
nothing is sent; a script that asks for more than the case has, or for less, is a failure that names the turn.
"""

from collections.abc import Iterator

import msgspec

from controller.cli.script_tools.engine import Engine, Execution
from controller.cli.script_tools.exchange_cases import AskingCase, Exchange
from controller.cli.script_tools.yaml_text import diff
from controller.domain.exchange.answer import Asks, Does, Turn, read_turn
from controller.domain.exchange.declared import Given, undeclared, why_not_run
from controller.domain.exchange.fields import Refused as Unfit
from controller.domain.exchange.fields import as_text
from controller.domain.exchange.limits import TURNS
from controller.domain.exchange.placing import placed, unfit_result
from controller.domain.exchange.turn_input import Answered
from controller.domain.traffic.tree import Json, Tree, decode, same
from controller.scripts.lookup import Script
from controller.scripts.script_outcome import Refused

ASK, ERROR, NO_DATA = "ask", "error", "noData"
_NOT_COMPARED = frozenset({"samples", "state", "why"})
"""Parts of a last answer that a case may leave out."""
_WITH_CONTENT = frozenset({"form", "json", "body"})


class Ran(msgspec.Struct, frozen=True):
    """The verdict, empty if all is as expected, and the calls that were made."""

    problem: str = ""
    lines: tuple[str, ...] = ()
    executions: tuple[Execution, ...] = ()

    @property
    def log(self) -> tuple[str, ...]:
        """The lines that the script printed in all turns."""
        return tuple(line for one in self.executions for line in one.answer.log)


async def run_case(engine: Engine, script: Script, does: Does, case: AskingCase) -> Ran:
    """All turns of one case. Raises WorkerUnavailable."""
    given = Given(tuple(case.params), case.secrets)
    if why := why_not_run(does, script.header, given):
        return Ran(why)
    done: list[Execution] = []
    state = case.state
    answers: tuple[Answered, ...] = ()
    for turn, exchange in enumerate((*case.exchanges, None), 1):
        obj = case.obj(turn, state, answers)
        answer = await engine.execute(script, obj, tenant="case", request_id=f"case-{turn}")
        done.append(Execution(script, obj, answer))
        if isinstance(answer, Refused):
            return Ran(*_failed(case, turn, answer), tuple(done))
        found = read_turn(does, answer.result)
        said = case.shown(decode(answer.result))
        if unfit := _unfit(script, case, found):
            return Ran(f"turn {turn}: the controller refuses the answer: {unfit}", (), tuple(done))
        if not isinstance(found, Asks):
            return Ran(*_ended(case, turn, said), tuple(done))
        problem, lines = _asked(turn, exchange, said)
        if does is Does.SOURCE and turn == TURNS:
            problem = f"turn {turn}: it asks again, and a source has {TURNS} turns"
        if problem or exchange is None:
            return Ran(problem, lines, tuple(done))
        state, answers = found.state, exchange.answers
    raise AssertionError("the last turn has no exchange, so it ends the case")


def _unfit(script: Script, case: AskingCase, found: Turn) -> Unfit | None:
    """Why the controller would not follow an answer."""
    match found:
        case Unfit():
            return found
        case Asks():
            requests = placed(found, case.marks)
            return requests if isinstance(requests, Unfit) else undeclared(script.header, requests)
        case _:
            return unfit_result(found)


# --- the end ----------------------------------------------------------------------------------------


def _failed(case: AskingCase, turn: int, refused: Refused) -> tuple[str, tuple[str, ...]]:
    expected = case.expect.get(ERROR)
    if isinstance(expected, str) and expected in refused.message:
        return _all_used(case, turn), ()
    wanted = f", and an error with other words was expected: {expected}" if expected else ""
    return f"turn {turn}: {refused.message}{wanted}", ()


def _ended(case: AskingCase, turn: int, said: Json) -> tuple[str, tuple[str, ...]]:
    if ERROR in case.expect:
        return (
            f"turn {turn}: an error was expected ({case.expect[ERROR]}), and it gave an answer",
            (),
        )
    if unused := _all_used(case, turn):
        return unused, ()
    expected, result = _comparable(case.expect, said)
    if same(expected, result):
        return "", ()
    return f"turn {turn}: the answer is not what is expected", diff(
        expected, result, ("expected", "result")
    )


def _all_used(case: AskingCase, turn: int) -> str:
    if turn > len(case.exchanges):
        return ""
    return (
        f"turn {turn}: it asks for nothing more, and the case has {len(case.exchanges)} exchanges"
    )


def _comparable(expect: Tree, said: Json) -> tuple[Tree, Tree]:
    result: Tree = dict(said) if isinstance(said, dict) else {"answer": said}
    if result.get("value") is None and not result.keys() - {"value", *_NOT_COMPARED}:
        result = {NO_DATA: True}
    hidden = _NOT_COMPARED - expect.keys()
    return expect, {key: item for key, item in result.items() if key not in hidden}


# --- requests ---------------------------------------------------------------------------------------


def _asked(turn: int, exchange: Exchange | None, said: Json) -> tuple[str, tuple[str, ...]]:
    assert isinstance(said, dict)
    listed = said[ASK]
    assert isinstance(listed, list)
    asked: list[Json] = [_normal(one) for one in listed]
    if exchange is None:
        more: Tree = {"requests": asked}
        return f"turn {turn}: it asks again, and the case has no answer", diff(
            {}, more, ("expected", "asked")
        )
    expected: list[Json] = [_normal(one) for one in exchange.requests]
    places = [*_differing(expected, asked, "request")]
    if not same(exchange.again, said.get("again")):
        places.append("again")
    if not places:
        return "", ()
    wanted, given = _with_wait(expected, exchange.again), _with_wait(asked, said.get("again"))
    words = f"turn {turn}: it does not ask as expected, in {', '.join(places)}"
    return words, diff(wanted, given, ("expected", "asked"))


def _with_wait(requests: list[Json], again: Json) -> Tree:
    found: Tree = {"requests": requests}
    return found if again is None else {**found, "again": again}


def _normal(request: Json) -> Json:
    if not isinstance(request, dict) or "get" in request:
        return request
    found: Tree = {key: item for key, item in request.items() if item not in ({}, [])}
    found.setdefault("method", "POST" if found.keys() & _WITH_CONTENT else "GET")
    headers = found.get("headers")
    if isinstance(headers, dict):
        found["headers"] = {key.lower(): item for key, item in headers.items()}
    for part in ("query", "form"):
        values = found.get(part)
        if isinstance(values, dict):
            found[part] = {key: _sent(item) for key, item in values.items()}
    return found


def _sent(value: Json) -> Json:
    """A value as text, as it is sent."""
    if isinstance(value, list):
        return [_sent(item) for item in value]
    return value if value is None or isinstance(value, dict) else as_text(value)


def _differing(expected: Json, asked: Json, place: str) -> Iterator[str]:
    """The innermost places that differ, such as `request[1].query.from`."""
    if isinstance(expected, dict) and isinstance(asked, dict):
        for key in sorted(expected.keys() | asked.keys()):
            if key in expected and key in asked:
                yield from _differing(expected[key], asked[key], f"{place}.{key}")
            else:
                yield f"{place}.{key}"
    elif isinstance(expected, list) and isinstance(asked, list) and len(expected) == len(asked):
        for number, (one, other) in enumerate(zip(expected, asked, strict=True), 1):
            yield from _differing(one, other, f"{place}[{number}]")
    elif not same(expected, asked):
        yield place
