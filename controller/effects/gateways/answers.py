"""What scripts want: one call per reference, judged before anybody acts on it.

Invariant: a script starts from the stored original, never from the live object; a script that is seen for the first
time is run twice, because an answer that depends on anything but the input could never be compared again.
"""

from typing import assert_never

import msgspec

from controller.domain.decision import Reference, Refusal, RoutePlan
from controller.domain.traffic.answer import Flaw, judge_answer
from controller.domain.traffic.scripts import script_input
from controller.domain.traffic.tree import Json, Tree
from controller.effects.gateways import refusals
from controller.effects.gateways.contracts import ScriptRunner
from controller.errors import WorkerUnavailable
from controller.scripts.answer import Executed, Refused
from controller.scripts.lookup import Script

MAX_REMEMBERED = 1000
"""Scripts known to be deterministic; beyond it they are tried again."""


class Question(msgspec.Struct, frozen=True):
    """One object, its original, and the references with their scripts."""

    subject: str
    original: Tree
    scripts: tuple[tuple[Reference, Script], ...]
    siblings: tuple[tuple[Json, ...], ...]
    """For each script what its header asks to see."""


class Answers:
    """Asks scripts."""

    def __init__(self, runner: ScriptRunner) -> None:
        self._runner = runner
        self._deterministic: set[str] = set()

    async def desired(self, question: Question, plan: RoutePlan) -> Tree | Refusal:
        """The content the object has to get, or why there is none."""
        content = question.original
        asked = zip(question.scripts, question.siblings, strict=True)
        for (reference, script), siblings in asked:
            obj = script_input(reference, plan, content, siblings)
            result = await self._run(script, obj, plan, question.subject)
            if isinstance(result, Refusal):
                return result
            judged = judge_answer(result, content, (reference,), plan.namespace)
            if isinstance(judged, Flaw):
                return refusals.answer_refused(judged.message, script, question.subject)
            content = judged
        return content

    async def _run(
        self, script: Script, obj: bytes, plan: RoutePlan, subject: str
    ) -> bytes | Refusal:
        first = await self._once(script, obj, plan, subject)
        if isinstance(first, Refusal) or script.sha256 in self._deterministic:
            return first
        second = await self._once(script, obj, plan, subject)
        if isinstance(second, Refusal):
            return second
        if first != second:
            return refusals.not_deterministic(script, subject)
        if len(self._deterministic) >= MAX_REMEMBERED:
            self._deterministic.clear()
        self._deterministic.add(script.sha256)
        return first

    async def _once(
        self, script: Script, obj: bytes, plan: RoutePlan, subject: str
    ) -> bytes | Refusal:
        request_id = f"{plan.identity}:{subject.replace(' ', '/')}"
        try:
            ran = await self._runner.execute(
                script, obj, tenant=plan.namespace, request_id=request_id
            )
        except WorkerUnavailable as problem:
            return refusals.worker_unavailable(problem, script, subject)
        match ran:
            case Executed(result=result):
                return result
            case Refused():
                return refusals.script_failed(ran, script, subject)
            case _:
                assert_never(ran)
