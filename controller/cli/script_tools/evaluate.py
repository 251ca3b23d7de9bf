"""One step of a case, from plan to verdict, by the controller's own code.

`Answers` is what the controller uses: it derives the input, runs a new script twice, chains the scripts of an
object that several references name, and checks the answer: the object's new content, and under `objects` the
companion objects.
"""

import msgspec

from controller.cli.script_tools.cases import Case, CaseStep, siblings_for
from controller.cli.script_tools.engine import Engine, Execution, Recorder
from controller.cli.script_tools.script_folders import Subject
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.traffic.original.content import content_of
from controller.domain.traffic.tree import Tree
from controller.domain.traffic.validation.answer import Answer
from controller.effects.gateways.script_answers import Answers, Question
from controller.errors import WorkerUnavailable
from controller.scripts.lookup import Script
from controller.scripts.script_outcome import Executed, Refused

OBJECTS = "objects"
"""The key of companion objects, in results and in expectations."""


class Outcome(msgspec.Struct, frozen=True):
    """The object's content at this step, or the reason why nothing would be written; and the calls that were made."""

    result: Tree | Refusal
    executions: tuple[Execution, ...] = ()

    @property
    def first(self) -> Executed | Refused | None:
        """The first call's answer."""
        return self.executions[0].answer if self.executions else None

    @property
    def cpu_ms(self) -> float:
        """CPU time of one run: repetitions, which only look for differences, are not counted."""
        seen: dict[bytes, float] = {}
        for item in self.executions:
            if isinstance(item.answer, Executed):
                seen.setdefault(item.obj, item.answer.cpu_ms)
        return sum(seen.values())


async def evaluate(
    engine: Engine,
    script: Script,
    case: Case,
    step: CaseStep,
    answers: Answers | None = None,
) -> Outcome:
    """The script's result for the case's original at this step. Raises WorkerUnavailable.

    With `answers`, which remembers earlier runs, a script is run twice at its first step only, as in the
    controller; its calls are not recorded then.
    """
    if not step.routed:
        # The controller calls no script at such a step: the object keeps its owner's content, or is restored to it.
        return Outcome(case.content)
    recorder = Recorder(engine)
    question = Question(
        subject=f"{step.plan.references[0]}",
        original=case.content,
        scripts=tuple((reference, script) for reference in step.plan.references),
        siblings=tuple(siblings_for(case, script) for _ in step.plan.references),
        named=step.plan.references,
    )
    result = await (answers or Answers(recorder)).desired(question, step.plan)
    if isinstance(result, Refusal) and result.reason == reasons.WORKER_UNAVAILABLE:
        raise WorkerUnavailable(result.message)
    seen = result if isinstance(result, Refusal) else _shown(result)
    return Outcome(seen, tuple(recorder.executions))


def _shown(answer: Answer) -> Tree:
    """Every object as it would be written."""
    if not answer.objects:
        return answer.content
    return {**answer.content, OBJECTS: [_manifest(item) for item in answer.objects]}


def _manifest(item: Tree) -> Tree:
    """A companion object without redundant fields: its namespace, and empty maps."""
    metadata = item.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    kept: Tree = {key: part for key, part in named.items() if key != "namespace" and part}
    return {**item, "metadata": kept}


def expected_content(expected: Tree) -> Tree:
    """The content of an expected object, and of its companion objects."""
    objects = expected.get(OBJECTS)
    listed = objects if isinstance(objects, list) else []
    content = content_of(expected)
    if not listed:
        return content
    return {**content, OBJECTS: [_manifest(item) for item in listed if isinstance(item, dict)]}


def comparable(subject: Subject, result: Tree, expected: Tree) -> Tree:
    """The part of a result that is compared: for an Ingress class, a case may expect the canary Ingress's annotations
    alone.
    """
    said_whole = "spec" in expected or OBJECTS in expected
    objects = result.get(OBJECTS)
    if not subject.class_type or said_whole or not isinstance(objects, list) or not objects:
        return result
    metadata = objects[0].get("metadata") if isinstance(objects[0], dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return {"annotations": annotations} if annotations else {}
