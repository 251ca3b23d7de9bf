"""Cases of a script's second chunk: the key `taken` in a file of cases, a list of a status in and a verdict out.

Each entry has `status` (as the gateway wrote it), `generation` (of the object; 1 if not given), perhaps `before`
(`{generation, status}`: the report before the release), and `expect`: `taken`, `wait`, or a map with `wait`
or `refused` and a part of the words. Invariant: the input is made by the controller's own code; reading never raises.
"""

import msgspec

from controller.cli.files import read_text
from controller.cli.script_tools.cases import Case
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.yaml_text import read_yaml
from controller.domain.decision.taken import NotTakenYet, RefusedByGateway, Taken, Verdict
from controller.domain.traffic.plan.taken import EXPECTED, taken_input, verdict_of
from controller.domain.traffic.tree import Json, Tree
from controller.scripts.lookup import Script
from controller.scripts.script_outcome import Executed

KEY = "taken"


class TakenCase(msgspec.Struct, frozen=True):
    """One status and the verdict about it. `problem`: why the entry cannot be used."""

    number: int
    words: str
    obj: bytes = b""
    expected: Json = None
    problem: str = ""


def taken_cases(case: Case) -> tuple[TakenCase, ...]:
    """The entries of a file that is a case."""
    content = read_yaml(read_text(case.path))
    entries = content.get(KEY) if isinstance(content, dict) else None
    if entries is None:
        return ()
    if not isinstance(entries, list):
        return (TakenCase(0, KEY, problem="taken is no list: it has one map for each status"),)
    return tuple(_taken_case(number, entry, case) for number, entry in enumerate(entries))


def _taken_case(number: int, entry: Json, case: Case) -> TakenCase:
    if not isinstance(entry, dict) or "expect" not in entry:
        return TakenCase(number, KEY, problem="an entry of taken is a map with status and expect")
    metadata = case.original.get("metadata")
    live: Tree = {
        **case.original,
        "metadata": {
            **(metadata if isinstance(metadata, dict) else {}),
            "generation": entry.get("generation", 1),
        },
        "status": entry.get("status", {}),
    }
    plan, before = case.steps[0].plan, entry.get("before")
    obj = taken_input(
        plan.references[0],
        plan.namespace,
        live,
        case.content,
        before if isinstance(before, dict) else None,
    )
    name = entry.get("name")
    words = name if isinstance(name, str) else f"{KEY} {number}"
    return TakenCase(number, words, obj, entry["expect"])


async def mistake(engine: Engine, script: Script, case: TakenCase) -> str:
    """The mistake in the script's answer; empty if it is right. Raises WorkerUnavailable."""
    if case.problem:
        return case.problem
    answer = await engine.execute(script, case.obj, tenant=KEY, request_id=KEY)
    if not isinstance(answer, Executed):
        return answer.plain_message
    verdict = verdict_of(answer.result)
    if verdict is None:
        return f"the answer is {answer.result.decode(errors='replace')}: {EXPECTED}"
    return "" if _agrees(verdict, case.expected) else f"the verdict is {_shown(verdict)}"


def _agrees(verdict: Verdict, expected: Json) -> bool:
    match verdict, expected:
        case Taken(), "taken":
            return True
        case NotTakenYet(), "wait":
            return True
        case NotTakenYet(why=why), {"wait": str(part)}:
            return part in why
        case RefusedByGateway(words=words), {"refused": str(part)}:
            return part in words
        case _:
            return False


def _shown(verdict: Verdict) -> str:
    match verdict:
        case Taken():
            return "taken"
        case NotTakenYet(why=why):
            return f"wait: {why}" if why else "wait"
        case RefusedByGateway(words=words):
            return f"refused: {words}"
