"""Runs a script on the originals of its test data: with their own steps, and with invented steps for its claims.

Invariant: the controller's own validation decides about answers, and `claims` about claims; the script runs here as it
runs in the controller.
"""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import structs

from controller.cli.script_tools.cases import Case, CaseStep, words_of
from controller.cli.script_tools.claims import CLAIMS, Ignored, ProbeAnswers, Unable, breach
from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.evaluate import OBJECTS, evaluate, expected_content
from controller.cli.script_tools.lua_syntax import NotLua, syntax_of
from controller.cli.script_tools.remark import Finding
from controller.cli.script_tools.script_folders import Subject
from controller.cli.script_tools.suite import AT_ONCE, ERROR, verdict
from controller.domain.decision import Refusal
from controller.domain.traffic.original.content import with_content
from controller.domain.traffic.tree import Tree, decode_tree, encode, same
from controller.effects.gateways.script_answers import Answers
from controller.scripts.lookup import Script

FAILED = "ScriptFailed"
"""Reason of a refusal that the script itself gave; any other says that its answer was not acceptable."""

_UNCLAIMED = (
    "no --@can line, so the script claims every step; the tested steps would allow: --@can {}"
)
_SAME = "get the same answer"
_NOT_IDEMPOTENT = (
    "not idempotent: with its own answer as input, its answer changes; "
    "the controller always starts from the owner's original, other tools may not"
)
_Given = Mapping[tuple[str, Path], ProbeAnswers]
"""Answers by claim and case."""


class Trial:
    """Runs a script on the originals of its test data."""

    def __init__(self, engine: Engine, subject: Subject, script: Script) -> None:
        self._engine = engine
        self._subject = subject
        self._script = script
        self._text = script.header_text
        # If a script is the same as another one, the lines are those of the other.
        self._end = 1 if script.about else _last_line(self._text)
        self._header = script.header
        self._places = asyncio.Semaphore(AT_ONCE)
        # Each step of the test data is run twice; of the generated steps, only the first one is.
        self._answers = Answers(engine)
        self._reported: set[str] = set()

    async def _answer(
        self, case: Case, step: CaseStep, answers: Answers | None = None
    ) -> Tree | Refusal:
        async with self._places:
            outcome = await evaluate(self._engine, self._script, case, step, answers)
        return outcome.result

    def _text_of(self, refusal: Refusal) -> str:
        """The refusal without the object and the script's name."""
        _, found, rest = refusal.message.partition(f"script {self._script.name}")
        text = rest.lstrip(": ") if found else refusal.message
        return text.replace(f"{self._script.name}:{refusal.line}: ", "")

    def _flaw(self, refusal: Refusal, where: str) -> Finding:
        line = refusal.line or self._end
        return Finding(line, "error", f"{self._text_of(refusal)} ({where})")

    async def cases(self, cases: list[Case]) -> list[Finding]:
        """Steps of the test data that the controller would refuse."""
        found: list[Finding] = []
        for case in cases:
            for step in case.steps:
                answer = await self._answer(case, step)
                expected = case.expected[step.number] if step.number < len(case.expected) else None
                foreseen = isinstance(expected, dict) and set(expected) == {ERROR}
                if not isinstance(answer, Refusal) or (
                    foreseen and not verdict(self._subject, answer, expected)[0]
                ):
                    continue
                self._reported.add(self._text_of(answer))
                found.append(self._flaw(answer, f"{case.name}[{step.number}]: {step.words}"))
        return found

    async def repetition(self, cases: list[Case]) -> list[Finding]:
        """Whether the script changes its own answer when it gets it as input: one note, with the first such step."""
        for case in cases:
            for step in filter(lambda step: step.routed, case.steps):
                once = await self._answer(case, step, self._answers)
                if isinstance(once, Refusal):
                    continue
                made = decode_tree(with_content(case.original, _own(once), {}))
                again = await self._answer(
                    structs.replace(case, original=made), step, self._answers
                )
                if isinstance(again, Refusal) or not same(_own(again), _own(once)):
                    where = f"{case.name}[{step.number}]: {step.words}"
                    return [Finding(self._end, "note", f"{_NOT_IDEMPOTENT} ({where})")]
        return []

    async def claims(self, cases: list[Case]) -> list[Finding]:
        """Claims that are not kept, and answers to made-up steps that the controller would refuse."""
        claimed = self._header.can
        words = [word for word in CLAIMS if claimed is None or word in claimed]
        asked = [(word, case) for word in words for case in cases]
        given = await asyncio.gather(*(self._probed(word, case) for word, case in asked))
        answers = {
            (word, case.path): answer for (word, case), answer in zip(asked, given, strict=True)
        }
        found = list(self._flaws(words, cases, answers))
        if not any(self._changes(case, answers) for case in cases) and answers:
            found.append(
                Finding(1, "error", "the script changes nothing at any step that was tried")
            )
            return found
        broken = {word: self._breach(word, cases, answers) for word in words}
        if claimed is None:
            kept = ",".join(word for word, message in broken.items() if message is None)
            found.append(Finding(1, "note", _UNCLAIMED.format(kept or "nothing")))
            ignored = (message for message in broken.values() if message and _SAME in message)
            return [*found, *(Finding(1, "note", message) for message in ignored)]
        found += [
            Finding(
                _claim_line(self._text, word), "error", f"--@can {word} does not hold: {message}"
            )
            for word, message in broken.items()
            if message is not None
        ]
        return found

    async def _probed(self, word: str, case: Case) -> ProbeAnswers:
        plan = case.steps[0].plan
        return tuple(
            [
                await self._answer(case, CaseStep(0, word, probe.on(plan)), self._answers)
                for probe in CLAIMS[word]
            ]
        )

    def _flaws(self, words: list[str], cases: list[Case], answers: _Given) -> Iterator[Finding]:
        """Each flaw once, with the first step that shows it."""
        reported = self._reported
        for word in words:
            for case in cases:
                for probe, answer in zip(CLAIMS[word], answers[word, case.path], strict=True):
                    if not isinstance(answer, Refusal) or answer.reason == FAILED:
                        continue
                    if self._text_of(answer) not in reported:
                        reported.add(self._text_of(answer))
                        words_said = words_of(probe.on(case.steps[0].plan))
                        yield self._flaw(answer, f"{case.name} at {words_said}")

    def _trees(self, case: Case, answers: _Given) -> list[Tree]:
        return [
            item
            for (_, path), given in answers.items()
            if path == case.path
            for item in given
            if not isinstance(item, Refusal)
        ]

    def _changes(self, case: Case, answers: _Given) -> bool:
        before = expected_content(case.original)
        trees = self._trees(case, answers)
        # Without an answer it is not known.
        return not trees or any(not same(tree, before) for tree in trees)

    def _breach(self, word: str, cases: list[Case], answers: _Given) -> str | None:
        """How the claim is not kept: ignored on any original, or refused on all of them."""
        unable: tuple[Case, Unable] | None = None
        kept = False
        for case in cases:
            independent = len({encode(tree) for tree in self._trees(case, answers)}) == 1
            found = breach(word, answers[word, case.path], independent=independent)
            match found:
                case Ignored(one=one, other=other):
                    plan = case.steps[0].plan
                    steps = [words_of(CLAIMS[word][at].on(plan)) for at in (one, other)]
                    return f"{steps[0]} and {steps[1]} {_SAME} ({case.name})"
                case Unable():
                    unable = unable or (case, found)
                case None:
                    kept = True
        if kept or unable is None:
            return None
        on, what = unable
        words = words_of(CLAIMS[word][what.probe].on(on.steps[0].plan))
        return f"{words}: {self._text_of(what.refusal)} ({on.name})"


def _own(answer: Tree) -> Tree:
    """The content of the object itself, without its companion objects."""
    return {key: part for key, part in answer.items() if key != OBJECTS}


def _last_line(text: str) -> int:
    """The line that returns the answer, as far as it is known."""
    try:
        syntax = syntax_of(text.encode())
    except (NotLua, RecursionError):
        return 1
    return syntax.statements[-1].line if syntax.statements else 1


def _claim_line(text: str, word: str) -> int:
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if (
            bare.startswith("--@can ")
            and word in bare.removeprefix("--@can ").replace(",", " ").split()
        ):
            return number
    return 1
