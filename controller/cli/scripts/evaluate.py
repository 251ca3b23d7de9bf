"""One step of a case, from plan to verdict, by the controller's own code.

`Answers` is what the controller uses: it derives the input, runs a script it has not seen twice, chains the scripts of
an object that several references lead to, and judges what comes back. Only Ingress classes, which the contract treats
differently, have their few lines here.
"""

import msgspec

from controller.cli.scripts.cases import Case, CaseStep, siblings_for
from controller.cli.scripts.engine import Engine, Execution, Recorder
from controller.cli.scripts.ingress import ingress_input, judge_annotations
from controller.cli.scripts.subjects import Subject
from controller.domain.decision import Refusal
from controller.domain.traffic.answer import Flaw
from controller.domain.traffic.original import content_of
from controller.domain.traffic.tree import Tree
from controller.effects.gateways import refusals
from controller.effects.gateways.answers import Answers, Question
from controller.errors import WorkerUnavailable
from controller.scripts.answer import Executed, Refused
from controller.scripts.lookup import Script


class Outcome(msgspec.Struct, frozen=True):
    """What the object would say at this step, or why nothing would be written; and the calls that were made."""

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
    subject: Subject,
    script: Script,
    case: Case,
    step: CaseStep,
    answers: Answers | None = None,
) -> Outcome:
    """What the script makes of the case's original at this step. Raises WorkerUnavailable.

    With `answers`, which remembers what it has tried, a script is run twice at its first step only, as in the
    controller; its calls are not recorded then.
    """
    if not step.routed:
        # The controller calls no script then: the object is, or becomes again, what its owner wrote.
        return Outcome(_visible(subject, case.content))
    recorder = Recorder(engine)
    if subject.class_type:
        result = await _ingress(recorder, script, case, step)
    else:
        question = Question(
            subject=f"{step.plan.references[0]}",
            original=case.content,
            scripts=tuple((reference, script) for reference in step.plan.references),
            siblings=tuple(siblings_for(case, script) for _ in step.plan.references),
        )
        result = await (answers or Answers(recorder)).desired(question, step.plan)
    if isinstance(result, Refusal) and result.reason == "WorkerUnavailable":
        raise WorkerUnavailable(result.message)
    return Outcome(result, tuple(recorder.executions))


async def _ingress(
    recorder: Recorder, script: Script, case: Case, step: CaseStep
) -> Tree | Refusal:
    """The annotations of the canary Ingress. The last reference's, where several lead through one Ingress."""
    reference = step.plan.references[0]
    subject = str(reference)
    obj = ingress_input(reference, step.plan, case.content)
    answers = [
        await recorder.execute(script, obj, tenant=step.plan.namespace, request_id=subject)
        for _ in range(2)
    ]
    for answer in answers:
        if isinstance(answer, Refused):
            return refusals.script_failed(answer, script, subject)
    first, second = (answer.result for answer in answers if isinstance(answer, Executed))
    if first != second:
        return refusals.not_deterministic(script, subject)
    judged = judge_annotations(first)
    if isinstance(judged, Flaw):
        return refusals.answer_refused(judged.message, script, subject)
    return judged


def expected_content(subject: Subject, expected: Tree) -> Tree:
    """The part of an expected object that a script has a say in."""
    return _visible(subject, content_of(expected))


def _visible(subject: Subject, content: Tree) -> Tree:
    if not subject.class_type:
        return content
    return {key: value for key, value in content.items() if key == "annotations"}
