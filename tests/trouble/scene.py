"""A story in which something goes wrong: what the product said to anybody is kept, and held against the row.

Invariant: a sentence counts only where it was read: in a recorded status, a recorded Event, or the answer to a request
or a command of this scene. It must not judge releases: that is `tests.cluster.invariants`.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime

from demo.stage import ROOT
from localcluster.api import JsonObject
from localcluster.errors import CommandFailed, RequestRefused
from localcluster.history import Change
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster.invariants import Violation
from tests.cluster.kinds import EVENTS, ROLLOUTS
from tests.cluster.story import RELEASE_SECONDS, Story
from tests.trouble import forms
from tests.trouble.forms import Form
from tests.trouble.stranded import stranded
from tests.trouble.table import Row, Said

CLI_SECONDS = 60.0
Hook = Callable[[], Awaitable[None]]


class Scene(Story):
    """A story of a row; what was said and done in it is kept."""

    def __init__(self, plane: Plane, recorder: Recorder, form: Form, row: Row, namespace: str):
        super().__init__(plane, recorder, form.application(namespace))
        self.form = form
        self.row = row
        self.answers: list[Said] = []
        """What requests and commands were answered."""
        self.done: list[str] = []
        """The commands that were run, as the document prints them."""
        self.excused: dict[str, str] = {}
        """Rules that this trouble breaks by itself, with the reason."""
        self.at_its_worst: Hook | None = None
        """What the test does to the controller at the moment that matters."""

    async def govern(self, body: JsonObject | None = None) -> None:
        """Create the Rollout, whose steps are shares, and wait until the workload is under its protection."""
        await super().govern(body or forms.rollout(self.app))

    def was_deleted(self) -> None:
        """Write down that the Rollout was told to go, by a command."""
        self._note("delete", self._last)

    async def moment(self) -> None:
        """The moment at which a crash would hurt the most."""
        if self.at_its_worst is not None:
            await self.at_its_worst()

    # --- what is typed ----------------------------------------------------------------------------

    async def does(self, command: str, *, user: str = "developer", fails: bool = False) -> str:
        """Run a command of the document; `<kind>` is the workload's kind. Its output is kept as printed."""
        self.done.append(command)
        words = command.replace("<kind>", self.form.resource).split()[1:]
        try:
            if words[0] == "moonshift":
                return await self._moonshift(*words[1:], user=user)
            output = await self.plane.kubectl(*words, "-n", self.app.namespace, user=user)
        except CommandFailed as failed:
            self.answers.append(Said("refused", _words_of(failed)))
            if not fails:
                raise
            return str(failed)
        self.answers += [Said("printed", line) for line in output.splitlines()]
        return output

    async def _moonshift(self, *words: str, user: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "controller.cli.main", *words, "-n", self.app.namespace),
            *("--kubeconfig", str(self.plane.kubeconfig(user))),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(CLI_SECONDS):
            output, errors = await process.communicate()
        self.answers += [Said("printed", line) for line in output.decode().splitlines()]
        self.answers += [Said("printed", line) for line in errors.decode().splitlines()]
        self.answers.append(Said("exit code", str(process.returncode)))
        if process.returncode == 1:
            raise CommandFailed(f"{' '.join(words)}: {errors.decode().strip()}")
        return output.decode() + errors.decode()

    async def is_refused(self, request: Awaitable[object]) -> str:
        """A request that must be refused; the words are kept."""
        try:
            await request
        except (RequestRefused, CommandFailed) as refused:
            self.answers.append(Said("refused", _words_of(refused)))
            return str(refused)
        raise AssertionError("it was not refused")

    # --- what is heard ----------------------------------------------------------------------------

    async def hears(self, number: int = 0, seconds: float = RELEASE_SECONDS) -> Change:
        """Wait until a sentence of the row (the first, or another) is said."""
        wanted = self.row.says[number]
        return await self.recorder.until(
            lambda c: (
                c.resource_version > self._last
                and any(map(wanted.same_as, said_in(c, self.app.namespace)))
            ),
            seconds,
        )

    def said(self) -> Iterator[Said]:
        """Everything that was said to anybody."""
        yield from self.answers
        for change in self.recorder.history():
            yield from said_in(change, self.app.namespace)

    # --- the judgement ----------------------------------------------------------------------------

    async def violations(self, *, ended: bool = True) -> list[Violation]:
        """Every broken rule but those that the trouble itself breaks."""
        found = await super().violations(ended=ended)
        history = self.recorder.history()
        found += stranded(self.app, history, self.times(history), datetime.now(UTC))
        return [violation for violation in found if violation.rule not in self.excused]

    def unsaid(self) -> list[Said]:
        """Sentences of the row that nobody said."""
        heard = {*self.said()}
        return [said for said in self.row.says if not any(map(said.same_as, heard))]


def said_in(change: Change, namespace: str) -> Iterator[Said]:
    """What an object of a namespace says at a revision."""
    if change.key.namespace != namespace or change.type == "DELETED":
        return
    if change.key.kind == EVENTS:
        yield Said(f"Event {change.object['reason']}", change.object.get("message") or "")
    if change.key.kind == ROLLOUTS:
        status = change.object.get("status") or {}
        yield Said("message", status.get("message") or "")
        for condition in status.get("conditions") or ():
            held = condition["status"] == "True"
            if held or condition["type"] in ("Succeeded", "Progressing", "Ready"):
                where = f"{condition['type']} {condition['reason']}"
                yield Said(where, condition.get("message") or "")


def _words_of(refused: Exception) -> str:
    """The words after those that only say which command it was."""
    return str(refused).strip()
