"""The answers of scripts: one call per reference, validated before anybody acts on it.

Invariant: a script starts from the stored original, never from the live object; the first run of a script on an object
in this process is repeated, because an answer that depends on anything but the input could never be compared again. A
reference that the plan leaves out changes nothing. Where proxies learn of Services from an object, the object names the
canary Service without a share in a step that leaves it out, and in a step of 0 %. Blue-green releases through Contour
lost requests when their step of 0 % removed the name, and the first share came together with the name.
"""

from hashlib import sha256
from typing import NamedTuple, assert_never

import msgspec

from controller.api.meta import Key
from controller.domain.decision import Reference, Refusal, RoutePlan
from controller.domain.traffic.companions.companion import wanted_part
from controller.domain.traffic.plan.script_input import script_input
from controller.domain.traffic.plan.traffic_plan import announcement
from controller.domain.traffic.tree import Json, Tree
from controller.domain.traffic.validation.answer import Answer, validate_answer
from controller.domain.traffic.validation.ingress import class_input, validate_class_answer
from controller.domain.traffic.validation.violation import Violation
from controller.effects.gateways import failed_writes
from controller.effects.gateways.contracts import ScriptRunner
from controller.errors import WorkerUnavailable
from controller.scripts.lookup import Script
from controller.scripts.script_outcome import Executed, Refused

MAX_REMEMBERED = 10_000
"""The number of Rollouts whose tried scripts are remembered; beyond it all scripts are tried again."""


class Tried:
    """The scripts that gave the same answer twice to the same input, by object, and the answers that passed a dry run;
    kept for the process, not for a pass.

    They are stored by the Rollout, or TrafficRouting, that the objects follow, and forgotten with it.
    """

    def __init__(self) -> None:
        self._known: dict[Key, tuple[bytes, ...]] = {}
        self._accepted: dict[Key, dict[str, bytes]] = {}

    def of(self, owner: Key) -> "TriedOf":
        """The scripts of one owner."""
        return TriedOf(self, owner)

    def knows(self, owner: Key, trial: bytes) -> bool:
        """This was tried for the owner."""
        return trial in self._known.get(owner, ())

    def add(self, owner: Key, trial: bytes) -> None:
        """This was tried for the owner."""
        if len(self._known) >= MAX_REMEMBERED:
            self._known.clear()
        self._known[owner] = (*self._known.get(owner, ()), trial)

    def accepted(self, owner: Key) -> dict[str, bytes]:
        """The last content of each of the owner's objects that a dry run accepted, as a digest."""
        if owner not in self._accepted and len(self._accepted) >= MAX_REMEMBERED:
            self._accepted.clear()
        return self._accepted.setdefault(owner, {})

    def forget(self, owner: Key) -> None:
        """The owner is gone."""
        self._known.pop(owner, None)
        self._accepted.pop(owner, None)


class TriedOf(NamedTuple):
    """The scripts that were tried for one owner."""

    tried: Tried
    owner: Key

    def knows(self, script: str, subject: str) -> bool:
        """The script, by its hash, was tried for this object."""
        return self.tried.knows(self.owner, _trial(script, subject))

    def add(self, script: str, subject: str) -> None:
        """The script, by its hash, was tried for this object."""
        self.tried.add(self.owner, _trial(script, subject))

    def accepted(self, subject: str, trial: bytes) -> bool:
        """The API server accepted this content of the object in a dry run."""
        return self.tried.accepted(self.owner).get(subject) == trial

    def accept(self, subject: str, trial: bytes) -> None:
        """The API server accepted it now."""
        self.tried.accepted(self.owner)[subject] = trial


def _trial(script: str, subject: str) -> bytes:
    """A digest: the names are three times as large."""
    return sha256(f"{script} {subject}".encode()).digest()


class Question(msgspec.Struct, frozen=True):
    """One object, its original, and the references with their scripts."""

    subject: str
    original: Tree
    scripts: tuple[tuple[Reference, Script], ...]
    siblings: tuple[tuple[Json, ...], ...]
    """The siblings that each script's header asks for."""
    named: tuple[Reference, ...]
    """The references as the plan names them; the references in `scripts` have the version that is served."""
    left_out: frozenset[int] = frozenset()
    """Places of the references that the plan leaves out."""


def _input(
    reference: Reference, plan: RoutePlan, content: Tree, siblings: tuple[Json, ...]
) -> bytes | Violation:
    make = class_input if reference.class_type else script_input
    return make(reference, plan, content, siblings)


def _judged(
    result: bytes, content: Tree, reference: Reference, plan: RoutePlan
) -> Answer | Violation:
    if reference.class_type:
        return validate_class_answer(result, content, reference, plan)
    return validate_answer(result, content, (reference,), plan.namespace, plan.references)


def _named_twice(objects: list[Tree]) -> str:
    """Two references of one object want different objects of one name."""
    found = [f"{item['kind']} {wanted_part(item, 'name')}" for item in objects]
    return next((name for at, name in enumerate(found) if name in found[:at]), "")


class Answers:
    """Asks scripts."""

    def __init__(self, runner: ScriptRunner, tried: TriedOf | None = None) -> None:
        self._runner = runner
        self._tried = tried or Tried().of(Key("", ""))

    async def desired(self, question: Question, plan: RoutePlan) -> Answer | Refusal:
        """The content that the object has to get, and its companion objects; or the reason why there is no answer."""
        content = question.original
        objects: list[Tree] = []
        asked = zip(question.scripts, question.siblings, strict=True)
        for place, ((reference, script), siblings) in enumerate(asked):
            is_left_out = place in question.left_out
            if is_left_out and not script.header.announces:
                continue
            gets_nothing = is_left_out or (plan.weight == 0 and not plan.matches)
            names_only = script.header.announces and gets_nothing
            step = announcement(plan) if names_only else plan.for_reference(question.named[place])
            obj = _input(reference, step, content, siblings)
            if isinstance(obj, Violation):
                return failed_writes.not_dividable(obj.message, question.subject)
            result = await self._run(script, obj, step, question.subject)
            if isinstance(result, Refusal):
                return result
            judged = _judged(result, content, reference, step)
            if isinstance(judged, Violation):
                return failed_writes.answer_refused(judged.message, script, question.subject)
            content = judged.content
            objects += judged.objects
        if clash := _named_twice(objects):
            return failed_writes.named_twice(clash, question.subject)
        return Answer(content, tuple(objects))

    async def _run(
        self, script: Script, obj: bytes, plan: RoutePlan, subject: str
    ) -> bytes | Refusal:
        first = await self._once(script, obj, plan, subject)
        if isinstance(first, Refusal) or self._tried.knows(script.sha256, subject):
            return first
        second = await self._once(script, obj, plan, subject)
        if isinstance(second, Refusal):
            return second
        if first != second:
            return failed_writes.not_deterministic(script, subject)
        self._tried.add(script.sha256, subject)
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
            return failed_writes.worker_unavailable(problem, script, subject)
        match ran:
            case Executed(result=result):
                return result
            case Refused():
                return failed_writes.script_failed(ran, script, subject)
            case _:
                assert_never(ran)
