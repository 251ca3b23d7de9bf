"""`run-script --live`: a script that asks, run with real answers from this machine; and its record as a test case.

The turns are the controller's own. Invariant: the values of secrets are read from files or the environment, are sent
only, and stand nowhere in what is shown or recorded: there they are `${name}`. A token that a service answered is
taken out of a record, too; any other content of an answer is in it, so its author reads it before sharing.
"""

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from controller.api.analysis import SecretKey
from controller.cli.failures import Failure
from controller.cli.files import read_text
from controller.cli.script_tools.cases import BadCase
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.exchange_cases import read_exchanges
from controller.cli.script_tools.script_folders import Subject
from controller.cli.script_tools.yaml_text import read_yaml, write_yaml
from controller.domain.exchange.answer import Does
from controller.domain.exchange.request import ObjectRequest
from controller.domain.exchange.turn_input import Question
from controller.domain.gates.secret_destinations import GateSecret
from controller.domain.traffic.plan.header import ScriptHeader
from controller.domain.traffic.tree import Json, Tree, decode, decode_tree
from controller.effects.asking_scripts import FoundInLibrary
from controller.outbound.egress import Anywhere
from controller.outbound.exchanging import Call, Exchanging
from controller.outbound.fetching import Failed, Fetching
from controller.outbound.script_runs import FoundScript, Wanted

WINDOW = 300
_SECRET = "command-line"
_OF_A_TURN = frozenset({"secrets", "turn", "answers"})
_KEPT_HEADERS = ("retry-after",)
_TOKENS = ("access_token", "id_token", "refresh_token", "token")


class Turn(msgspec.Struct, frozen=True):
    """One call of the script; without a result it failed."""

    obj: Tree
    result: Json = None


class Live(msgspec.Struct, frozen=True):
    """All turns, and the failure that ended them."""

    turns: tuple[Turn, ...]
    failed: str = ""


class Recorded:
    """A script that remembers its turns."""

    def __init__(self, found: FoundScript) -> None:
        self._found = found
        self.turns: list[Turn] = []

    @property
    def header(self) -> ScriptHeader:
        """The script's own."""
        return self._found.header

    async def run(self, obj: bytes, *, tenant: str, request_id: str) -> bytes:
        """One turn."""
        given = decode_tree(obj)
        self.turns.append(Turn(given))
        result = await self._found.run(obj, tenant=tenant, request_id=request_id)
        self.turns[-1] = Turn(given, decode(result))
        return result


class _OneScript(msgspec.Struct, frozen=True):
    """A person's script and secrets, on that person's own machine."""

    script: Recorded
    values: Mapping[str, str]

    def find(self, wanted: Wanted) -> Recorded:
        """This one."""
        return self.script

    async def may_use(self, wanted: Wanted, secrets: Iterable[str]) -> None:
        """Always: the secrets are the person's own."""

    async def object(self, wanted: Wanted, asked: ObjectRequest) -> Tree | None:
        """Never: there is no cluster here."""
        raise Failed(f"a live run has no cluster to read {asked.shown} from: write a test case")

    async def read(self, namespace: str, name: str) -> GateSecret:
        """The values of the command line, in the place of a Secret."""
        return GateSecret(namespace, name, self.values, anywhere=True)


async def ask_live(
    engine: Engine, subject: Subject, given: Tree, values: Mapping[str, str]
) -> Live:
    """The script's turns with real answers. Raises WorkerUnavailable."""
    recorded = Recorded(FoundInLibrary(subject.read(), engine))
    own = _OneScript(recorded, values)
    fetching = Fetching(Anywhere(), own)
    try:
        exchanging = Exchanging(fetching, own, lambda: datetime.now(UTC))
        await exchanging.called(_call(subject, given, values))
    except Failed as failed:
        return Live(tuple(recorded.turns), str(failed))
    finally:
        await fetching.aclose()
    return Live(tuple(recorded.turns))


def _call(subject: Subject, given: Tree, values: Mapping[str, str]) -> Call:
    params, state = given.get("params"), given.get("state")
    about = {key: item for key, item in given.items() if key not in ("params", "state", "id")}
    return Call(
        Wanted(Does(subject.does), subject.path.stem, "live"),
        Question(params if isinstance(params, dict) else {}, str(given.get("id", "live")), about),
        {name: SecretKey(_SECRET, name) for name in values},
        state=state if isinstance(state, dict) else None,
    )


# --- what is given ----------------------------------------------------------------------------------


def input_of(case: Path | None, params: str, now: int) -> Tree:
    """The input of a case, or a window of five minutes that ends now; parameters of the command line are added."""
    given: Tree = {"window": {"from": now - WINDOW, "to": now}}
    if case is not None:
        read = read_exchanges(case)
        if isinstance(read, BadCase):
            raise Failure(f"{case}: {read.problem}")
        given = dict(read.input)
    try:
        more = read_yaml(params)
    except ValueError as problem:
        raise Failure(f"--params: {problem}") from problem
    if not isinstance(more, dict):
        raise Failure("--params is no object")
    known = given.get("params")
    given["params"] = {**(known if isinstance(known, dict) else {}), **more}
    return given


def secrets_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Values of `NAME=FILE` and `NAME=env:VARIABLE`."""
    found: dict[str, str] = {}
    for text in texts:
        name, sign, place = text.partition("=")
        if not sign or not name or not place:
            raise Failure("--secret: write it as NAME=FILE, or NAME=env:VARIABLE; never the value")
        found[name] = _value(place).strip("\r\n")
    return found


def _value(place: str) -> str:
    if place.startswith("env:"):
        variable = place.removeprefix("env:")
        if variable not in os.environ:
            raise Failure(f"--secret: the environment has no variable {variable}")
        return os.environ[variable]
    try:
        return read_text(Path(place))
    except (OSError, ValueError) as problem:
        raise Failure(f"--secret: {place} cannot be read: {problem}") from problem


# --- what is shown and recorded ---------------------------------------------------------------------


def shown(turn: Turn) -> Json:
    """The result of a turn, with the names of secrets where their marks stood."""
    return _with_names(turn.result, turn.obj)


def record(live: Live, docs: str) -> str:
    """The run as a test case."""
    first, last = live.turns[0].obj, live.turns[-1]
    secrets = first.get("secrets")
    case: Tree = {"docs": docs} if docs else {}
    case["input"] = {key: item for key, item in first.items() if key not in _OF_A_TURN}
    if isinstance(secrets, dict) and secrets:
        case["secrets"] = list(secrets)
    case["exchanges"] = [*_exchanges(live.turns)]
    result = shown(last)
    case["expect"] = result if result not in ({}, []) else {"noData": True}
    if live.failed:
        case["expect"] = {"error": live.failed.partition(": ")[2].rpartition(" (")[0]}
    return write_yaml(_without_tokens(case), sort=False)


def can_be_recorded(live: Live) -> bool:
    """Every request has an answer: the last turn asks nothing."""
    result = live.turns[-1].result if live.turns else None
    return bool(live.turns) and not (isinstance(result, dict) and "ask" in result)


def _exchanges(turns: tuple[Turn, ...]) -> Iterator[Tree]:
    for turn, after in itertools.pairwise(turns):
        result, answers = shown(turn), after.obj.get("answers")
        assert isinstance(result, dict)
        assert isinstance(answers, list)
        exchange: Tree = {"requests": result["ask"], "answers": [_tidy(one) for one in answers]}
        if "again" in result:
            exchange["again"] = result["again"]
        yield exchange


def _tidy(answer: Json) -> Json:
    """An answer without the headers that scripts do not read; JSON as a tree."""
    assert isinstance(answer, dict)
    headers, body = answer.get("headers"), answer.get("body")
    found: Tree = {"status": answer.get("status")}
    if isinstance(headers, dict) and (
        kept := {key: headers[key] for key in _KEPT_HEADERS if key in headers}
    ):
        found["headers"] = kept
    try:
        found["body"] = decode(str(body).encode())
    except ValueError:
        found["body"] = body
    return found


def _with_names(value: Json, obj: Tree) -> Json:
    """Marks are in texts only, and are plain letters: they are replaced in the JSON text."""
    text, secrets = json.dumps(value), obj.get("secrets")
    for name, mark in secrets.items() if isinstance(secrets, dict) else ():
        text = text.replace(str(mark), f"${{{name}}}")
    found: Json = json.loads(text)
    return found


def _without_tokens(case: Tree) -> Json:
    text = json.dumps(case)
    for name, value in _tokens_in(case):
        text = text.replace(json.dumps(value)[1:-1], f"recorded-{name}")
    found: Json = json.loads(text)
    return found


def _tokens_in(value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in _TOKENS and isinstance(inner, str) and not inner.startswith("${"):
                yield name, inner
            yield from _tokens_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _tokens_in(inner)
