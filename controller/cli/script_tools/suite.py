"""Runs test cases and compares the results, for `moonshift test-scripts`.

Invariant: every step of every case of every script gets a verdict, independent of the others; a script without a case,
a file that is no case and a list of expectations of the wrong length are failures, not omissions.
"""

import asyncio
import os
import time
from collections.abc import Iterable

import msgspec

from controller.cli.script_tools.cases import BadCase, Case, CaseStep, read_case
from controller.cli.script_tools.coverage import (
    Coverage,
    Instrumented,
    instrumented,
    measure,
    together,
)
from controller.cli.script_tools.engine import Engine, Execution
from controller.cli.script_tools.evaluate import comparable, evaluate, expected_content
from controller.cli.script_tools.exchange_cases import AskingCase, read_exchanges
from controller.cli.script_tools.exchange_trial import run_case
from controller.cli.script_tools.script_folders import ROUTE, TEST_DATA, Subject
from controller.cli.script_tools.yaml_text import diff
from controller.domain.decision import Refusal
from controller.domain.exchange.answer import Does
from controller.domain.traffic.tree import Json, Tree, same
from controller.scripts.lookup import Script

AT_ONCE = max(2, 2 * (os.cpu_count() or 1))
"""Steps that run at the same time: fewer than the worker's queue holds."""
ERROR = "error"
"""An expectation with only this key: the script refuses the step, with a message that contains the text."""


class Check(msgspec.Struct, frozen=True):
    """One verdict. `problem` is empty if it passed; `step` is None for a case of a script that asks, and for a problem
    of a whole file."""

    case: str
    step: int | None = None
    words: str = ""
    problem: str = ""
    diff: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    seconds: float = 0.0
    turns: int | None = None
    """Of a case of a script that asks."""

    @property
    def name(self) -> str:
        """`documented_case[0]`."""
        return self.case if self.step is None else f"{self.case}[{self.step}]"


class Report(msgspec.Struct, frozen=True):
    """All verdicts about one script."""

    subject: Subject
    checks: tuple[Check, ...]
    coverage: Coverage | None = None

    @property
    def failed(self) -> int:
        """How many verdicts are bad."""
        return sum(bool(check.problem) for check in self.checks)


class _Done(msgspec.Struct, frozen=True):
    check: Check
    coverage: Coverage | None = None


class Suite:
    """Runs the cases of scripts."""

    def __init__(self, engine: Engine, keyword: str = "") -> None:
        self._engine = engine
        self._keyword = keyword.lower()
        self._places = asyncio.Semaphore(AT_ONCE)

    async def run(self, subjects: Iterable[Subject]) -> list[Report]:
        """Reports in the order of the scripts. Raises WorkerUnavailable."""
        reports = [await self._report(subject) for subject in subjects]
        return [report for report in reports if report.checks]

    async def _report(self, subject: Subject) -> Report:
        paths = subject.cases()
        if not paths:
            check = Check("", problem=_untested(subject))
            return Report(subject, (check,) if self._wants(subject.name) else ())
        script = subject.read()
        copy = instrumented(script)
        work: list[asyncio.Task[_Done]] = []
        checks: list[Check | asyncio.Task[_Done]] = []
        async with asyncio.TaskGroup() as group:
            for path in paths if subject.does != ROUTE else ():
                asking = read_exchanges(path)
                if not self._wants(subject.name, asking.name):
                    continue
                if isinstance(asking, BadCase):
                    checks.append(Check(asking.name, problem=asking.problem))
                    continue
                work.append(
                    group.create_task(self._exchanges(Does(subject.does), script, copy, asking))
                )
                checks.append(work[-1])
            for path in paths if subject.does == ROUTE else ():
                case = read_case(path, subject)
                problem = case.problem if isinstance(case, BadCase) else _count_problem(case)
                if problem and self._wants(subject.name, case.name):
                    checks.append(Check(case.name, problem=problem))
                if isinstance(case, BadCase):
                    continue
                for step in case.steps:
                    name = f"{case.name}[{step.number}]"
                    if step.number < len(case.expected) and self._wants(subject.name, name):
                        job = self._check(subject, script, copy, case, step)
                        work.append(group.create_task(job))
                        checks.append(work[-1])
        done = tuple(
            item.result().check if isinstance(item, asyncio.Task) else item for item in checks
        )
        parts = [part for task in work if (part := task.result().coverage) is not None]
        measured = together(parts) if parts and not self._keyword else None
        return Report(subject, done, measured)

    async def _exchanges(
        self, does: Does, script: Script, copy: Instrumented | None, case: AskingCase
    ) -> _Done:
        """One case of a script that asks."""
        async with self._places:
            began = time.monotonic()
            ran = await run_case(self._engine, script, does, case)
            seconds = time.monotonic() - began
            coverage = await self._measured(copy, ran.executions)
        turns = len(ran.executions)
        words = "1 turn" if turns == 1 else f"{turns} turns"
        check = Check(case.name, None, words, ran.problem, ran.lines, ran.log, seconds, turns)
        return _Done(check, coverage)

    async def _measured(
        self, copy: Instrumented | None, executions: tuple[Execution, ...]
    ) -> Coverage | None:
        if copy is None:
            return Coverage(unmeasured=1) if executions else None
        distinct = {item.obj: item for item in executions}.values()  # one call for each input
        parts = [await measure(self._engine, item, copy) for item in distinct]
        return together(parts) if parts else Coverage(copy.statements)

    def _wants(self, *names: str) -> bool:
        return self._keyword in "/".join(names).lower()

    async def _check(
        self,
        subject: Subject,
        script: Script,
        copy: Instrumented | None,
        case: Case,
        step: CaseStep,
    ) -> _Done:
        async with self._places:
            began = time.monotonic()
            outcome = await evaluate(self._engine, script, case, step)
            seconds = time.monotonic() - began
            coverage = await self._measured(copy, outcome.executions)
        problem, lines = verdict(subject, outcome.result, case.expected[step.number])
        first = outcome.first
        return _Done(
            Check(
                case.name,
                step.number,
                step.words,
                problem,
                lines,
                first.log if first is not None else (),
                seconds,
            ),
            coverage,
        )


def _untested(subject: Subject) -> str:
    folder = subject.path.parent / TEST_DATA
    named = subject.class_type or (subject.path.stem if subject.does != ROUTE else "")
    folder = folder / named if named else folder
    return f"this script has no test data: put a case into {folder}/, as a .yaml file"


def _count_problem(case: Case) -> str:
    steps, expected = len(case.steps), len(case.expected)
    if steps == expected:
        return ""
    return (
        f"there are {steps} steps and {expected} expected objects: expected has one object for each step "
        "(--update writes them)"
    )


def verdict(
    subject: Subject, result: Tree | Refusal, expected: Json
) -> tuple[str, tuple[str, ...]]:
    """The mistake, and the difference as lines; an empty text if there is none."""
    if expected is None:
        return "nothing is expected here: write the object as it has to be (--update does)", ()
    if not isinstance(expected, dict):
        return "what is expected is no object", ()
    wanted = expected.get(ERROR) if set(expected) == {ERROR} else None
    if isinstance(result, Refusal):
        if isinstance(wanted, str) and wanted in result.message:
            return "", ()
        return result.message, ()
    if wanted is not None:
        return f"an error was expected ({wanted}), and the script gave an answer", ()
    content, result = expected_content(expected), comparable(subject, result, expected)
    if same(result, content):
        return "", ()
    return "the result is not what is expected", diff(content, result, ("expected", "result"))
