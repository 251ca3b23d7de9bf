"""Asks scripts whether the gateways took what was written, and remembers the verdicts for the next observation.

Why remembered in memory only: a verdict is about one version of an object, and a new process asks again. Invariants:
nothing is written; an object is asked about once in each version; an object on which nobody reports is not asked about.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import assert_never

from controller.domain.decision import Done, NotYet, Outcome, Reference, Refusal, RoutePlan
from controller.domain.decision.taken import Asked, NotAsked, Verdict
from controller.domain.traffic.drift.object_state import ObjectState, read_object_state, reported
from controller.domain.traffic.original.reports import unpacked_report
from controller.domain.traffic.plan.taken import EXPECTED, taken_input, verdict_of
from controller.effects.gateways import failed_writes
from controller.effects.gateways.contracts import GatewayObjects, ScriptRunner, ScriptSource
from controller.effects.gateways.targets import targets_of
from controller.errors import Forbidden, NotFound, WorkerUnavailable
from controller.scripts.lookup import MissingScript, Script
from controller.scripts.script_outcome import Executed, Refused

MAX_REMEMBERED = 10_000
"""Objects with a verdict; beyond it the oldest are asked about again."""

_Place = tuple[str, str, str, str, str]
"""Group, kind, namespace and name of an object, and the script that was asked."""


def _place(reference: Reference, namespace: str, script: str) -> _Place:
    return reference.group, reference.kind, namespace, reference.name, script


class Verdicts:
    """The last verdict about each object; kept for the process, not for a pass."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Place, tuple[str, Verdict]] = OrderedDict()

    def about(self, reference: Reference, namespace: str, version: str, script: str) -> Asked:
        """The verdict about an object in this version, by the script with this identity."""
        known = self._known.get(_place(reference, namespace, script))
        return known[1] if known is not None and known[0] == version else NotAsked()

    def keep(
        self, reference: Reference, namespace: str, version: str, script: str, verdict: Verdict
    ) -> None:
        """The verdict replaces an earlier one about the object."""
        place = _place(reference, namespace, script)
        self._known[place] = version, verdict
        self._known.move_to_end(place)
        if len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)


class Confirmation:
    """Carries out ConfirmRoutes."""

    def __init__(
        self,
        objects: GatewayObjects,
        scripts: ScriptSource,
        runner: ScriptRunner,
        verdicts: Verdicts,
    ) -> None:
        self._objects = objects
        self._scripts = scripts
        self._runner = runner
        self._verdicts = verdicts

    async def confirm(self, plan: RoutePlan) -> Outcome:
        """Every object of the plan has a verdict; a refusal if a script gave none."""
        asked = False
        for target in targets_of(plan.references, plan.namespace):
            for reference, script in self._asking(target.references):
                found = await self._state(reference, plan.namespace, target.subject)
                if isinstance(found, Refusal):
                    return found
                version = reported(found) if found is not None else ""
                if found is None or not version:
                    continue
                about = reference, plan.namespace, version, script.sha256
                if not isinstance(self._verdicts.about(*about), NotAsked):
                    continue
                verdict = await self._ask(script, reference, plan, found, target.subject)
                if isinstance(verdict, Refusal):
                    return verdict
                self._verdicts.keep(*about, verdict)
                asked = True
        return NotYet("the next pass sees the gateways' verdicts", 0.0) if asked else Done()

    def _asking(self, references: tuple[Reference, ...]) -> Iterator[tuple[Reference, Script]]:
        """The second chunks of the scripts of one object."""
        for reference in references:
            script = self._scripts.resolve(reference)
            if not isinstance(script, MissingScript) and script.taken is not None:
                yield reference, script.taken

    async def _state(
        self, reference: Reference, namespace: str, subject: str
    ) -> ObjectState | Refusal | None:
        try:
            raw = await self._objects.read(reference, namespace)
        except NotFound:
            return None
        except Forbidden as failure:
            return failed_writes.forbidden(failure, subject)
        return read_object_state(raw, subject)

    async def _ask(
        self,
        script: Script,
        reference: Reference,
        plan: RoutePlan,
        found: ObjectState,
        subject: str,
    ) -> Verdict | Refusal:
        before = unpacked_report(found.record.before) if found.record is not None else None
        written = found.written if found.written is not None else {}
        obj = taken_input(reference, plan.namespace, found.live, written, before)
        request_id = f"{plan.identity}:taken:{subject.replace(' ', '/')}"
        try:
            ran = await self._runner.execute(
                script, obj, tenant=plan.namespace, request_id=request_id
            )
        except WorkerUnavailable as problem:
            return failed_writes.worker_unavailable(problem, script, subject)
        match ran:
            case Executed(result=result):
                verdict = verdict_of(result)
                if verdict is None:
                    return failed_writes.answer_refused(EXPECTED, script, subject)
                return verdict
            case Refused():
                return failed_writes.script_failed(ran, script, subject)
            case _:
                assert_never(ran)
