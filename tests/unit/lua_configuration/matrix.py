"""The table of runs in docs/gateways.md: the result of each sort of step for each kind, from a real run.

`python -m tests.unit.lua_configuration.matrix --update` runs every packaged script on the originals of its test data,
through a real worker, and writes the table; a test runs the same and compares. A mark is an answer that the controller
would write; the words are those a script refuses with. Invariant: nothing in it comes from what scripts say of
themselves.
"""

import asyncio
import re
import sys
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from controller.api.rollout import HttpRouteMatch, PathMatch, ValueMatch
from controller.cli.script_tools.cases import Case, CaseStep, read_case
from controller.cli.script_tools.engine import Engine, private_worker
from controller.cli.script_tools.evaluate import evaluate
from controller.cli.script_tools.script_folders import Subject, subjects_in
from controller.domain.decision import Refusal, RoutePlan
from controller.domain.traffic.plan.traffic_plan import identified
from controller.domain.traffic.tree import Tree, encode
from tests.unit.lua_configuration.cases import FOLDER

DOCUMENT = FOLDER.parent / "docs" / "gateways.md"
BEGIN, END = "<!-- gateways: generated from runs -->\n", "<!-- end -->\n"
YES, BY_PARAMETER, MATCHES_WIN, NO = "●", "◐", "○", "–"

_HEADER = HttpRouteMatch(headers=(ValueMatch("Exact", "x-user-group", "beta"),))
_COOKIE = HttpRouteMatch(headers=(ValueMatch("Exact", "canary-by-cookie", "beta"),))
STEPS: Mapping[str, tuple[float | None, tuple[HttpRouteMatch, ...]]] = {
    "weight": (20.0, ()),
    "0.5 %": (0.5, ()),
    "header": (None, (_HEADER,)),
    "cookie": (None, (_COOKIE,)),
    "path": (None, (HttpRouteMatch(path=PathMatch("PathPrefix", "/beta")),)),
    "query": (None, (HttpRouteMatch(query_params=(ValueMatch("Exact", "preview", "1"),)),)),
    "method": (None, (HttpRouteMatch(method="GET"),)),
}


class Row(NamedTuple):
    """One script: its name, a mark for each sort of step, and its messages for refused steps."""

    name: str
    marks: tuple[str, ...]
    words: tuple[str, ...]


def _with(plan: RoutePlan, step: tuple[float | None, tuple[HttpRouteMatch, ...]]) -> RoutePlan:
    return identified(
        msgspec.structs.replace(plan, weight=step[0], matches=step[1], header_modifier=None)
    )


def _without_params(plan: RoutePlan, params: bytes = b"") -> RoutePlan:
    """The plan as the case has it, or with parameters on top of each reference's own."""
    if not params:
        return plan
    references = tuple(
        msgspec.structs.replace(
            item,
            params=msgspec.Raw(
                encode({**msgspec.json.decode(item.params), **msgspec.json.decode(params)})
            ),
        )
        for item in plan.references
    )
    return msgspec.structs.replace(plan, references=references)


class _Runs:
    """Runs steps on the originals of one script."""

    def __init__(self, engine: Engine, subject: Subject) -> None:
        self._engine = engine
        self._subject = subject
        found = (read_case(path, subject) for path in subject.cases())
        self._cases = [case for case in found if isinstance(case, Case)]

    async def best(
        self, step: tuple[float | None, tuple[HttpRouteMatch, ...]], params: bytes = b""
    ) -> tuple[Case | None, Tree | Refusal]:
        """The first answer on any original; else the refusal on the first."""
        first: Tree | Refusal | None = None
        for case in self._cases:
            result = await self._run(case, step, params)
            if not isinstance(result, Refusal):
                return case, result
            first = first or result
        assert first is not None, self._subject.name
        return None, first

    async def _run(
        self, case: Case, step: tuple[float | None, tuple[HttpRouteMatch, ...]], params: bytes
    ) -> Tree | Refusal:
        plan = _without_params(_with(case.steps[0].plan, step), params)
        script = self._subject.read()
        outcome = await evaluate(self._engine, script, case, CaseStep(0, "", plan))
        return outcome.result

    async def both(self) -> str:
        """Matches and a share in one step: both, both by a parameter, or the matches alone."""
        case, alone = await self.best(STEPS["header"])
        if case is None or isinstance(alone, Refusal):
            return NO
        together = (20.0, (_HEADER,))
        plain = await self._run(case, together, b'{"both":false}')
        if isinstance(plain, Refusal):
            return NO
        if plain != alone or plain == await self._run(case, STEPS["weight"], b""):
            return YES
        asked = await self._run(case, together, b'{"both":true}')
        return MATCHES_WIN if asked == alone or isinstance(asked, Refusal) else BY_PARAMETER


async def row_of(engine: Engine, subject: Subject) -> Row:
    """The row of one script in the table."""
    runs = _Runs(engine, subject)
    marks, words = [], []
    for step in STEPS.values():
        case, result = await runs.best(step)
        marks.append(YES if case is not None else NO)
        if isinstance(result, Refusal):
            words.append(_said(result))
    name = f"Ingress class `{subject.class_type}`" if subject.class_type else f"`{subject.name}`"
    return Row(name, (*marks, await runs.both()), tuple(dict.fromkeys(words)))


def _said(refusal: Refusal) -> str:
    """The script's own words."""
    text = re.sub(r"^.*?\.lua:\d+: |^.*?trafficRouting\.lua:\d+: ", "", refusal.message)
    text = re.sub(r"^.*? failed in line \d+: ", "", text)
    return text.replace("|", "\\|")


async def rows(engine: Engine) -> list[Row]:
    """All packaged scripts, kinds first."""
    subjects = sorted(subjects_in(FOLDER), key=lambda item: (bool(item.class_type), item.name))
    return [await row_of(engine, subject) for subject in subjects]


def table(found: list[Row]) -> str:
    """As Markdown."""
    heads = (*STEPS, "both")
    lines = [f"| | {' | '.join(heads)} | refuses with |", f"|---|{':-:|' * len(heads)}---|"]
    lines += [f"| {row.name} | {' | '.join(row.marks)} | {'; '.join(row.words)} |" for row in found]
    return "\n".join(lines) + "\n"


def with_table(text: str, found: list[Row]) -> str:
    """The document with this table between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, f"the mark {BEGIN.strip()} is missing"
    assert end, f"the mark {END.strip()} is missing"
    return before + begin + table(found) + end + after


async def main() -> int:
    """Compares, or writes with --update."""
    async with private_worker() as engine:
        found = await rows(engine)
    text = DOCUMENT.read_text()
    wanted = with_table(text, found)
    if "--update" in sys.argv:
        DOCUMENT.write_text(wanted)
    return int(wanted != text and "--update" not in sys.argv)


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
