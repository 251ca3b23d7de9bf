"""A story with a problem: every message of the product is recorded, and compared with the row.

Invariant: a message counts only if it was read in a recorded status, a recorded Event, or the answer to a request or
a command of this scene. It must not judge releases: that is `tests.cluster.invariants`.
"""

import asyncio
import contextlib
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping

import yaml

from demo.stage import ROOT, Product
from localcluster.api import JsonObject
from localcluster.errors import CommandFailed, NotReady, RequestRefused
from localcluster.history import Change, Key, Kind
from localcluster.record import Recorder
from tests.cluster.invariants import Violation
from tests.cluster.kinds import EVENTS, PODS, ROLLOUTS, path_of
from tests.cluster.manifests import STABLE_IMAGE
from tests.cluster.status_fields import condition, revision_of, step_of, sub_status
from tests.cluster.story import RELEASE_SECONDS, WORKLOAD_TYPE, Story
from tests.cluster.view import View, deleting, image_of, ready
from tests.trouble import forms, why
from tests.trouble.forms import Form
from tests.trouble.table import Message, Row, pattern_of

CLI_SECONDS = 60.0
PLUGIN = "from controller.cli.main import cli; cli.main(prog_name='kubectl moonshift')"
UNDO = "kubectl moonshift undo shop"
APPROVE = "kubectl moonshift approve shop"
REPEATS = 5
PATIENCE_SECONDS = 100.0
"""Longer than the minute after which missing pods are reported."""
State = Mapping[Key, JsonObject]
Hook = Callable[[], Awaitable[None]]


class Scene(Story):
    """A story of a row; its messages and commands are recorded."""

    def __init__(self, running: Product, recorder: Recorder, form: Form, row: Row, namespace: str):
        super().__init__(running.plane, recorder, form.application(namespace), plainly=True)
        self.running = running
        self.form = form
        self.row = row
        self.answers: list[Message] = []
        """The answers to requests and commands."""
        self.done: list[str] = []
        """The commands that were run, as the document prints them."""
        self.followed: list[str] = []
        """The commands of `why` that a person completes by a value, and that were followed."""
        self.excused: dict[str, str] = {}
        """Rules that this trouble breaks by itself, with the reason."""
        self.explained: list[str] = []
        """The output of `why` at the worst moment, line by line."""
        self.at_its_worst: Hook | None = None
        """The test's action on the controller at the worst moment."""

    async def govern(self, body: JsonObject | None = None) -> None:
        """Create the Rollout, whose steps are shares, and wait until the workload is under its protection."""
        await super().govern(body or forms.rollout(self.app))

    def was_deleted(self) -> None:
        """Record that a command deleted the Rollout."""
        self._note("delete", self._last)

    async def pods_serve(self) -> None:
        """At present, the Service has as many ready pods as the owner asks for."""
        await self.recorder.until_state(lambda state: self._ready_in(state) == self.size)

    def newest(self) -> int:
        """The revision of the newest recorded change."""
        return max(change.resource_version for change in self.recorder.history())

    def was_approved(self, since: int) -> None:
        """Record that a command approved the present step after this revision."""
        self._note("approve", since)

    def begins_anew(self) -> None:
        """Check nothing before this moment: the next actions are about another workload of the same name."""
        self._since = self.newest()
        self._audit_mark = self.plane.audit.mark()
        self.actions.clear()
        self.expected.clear()

    async def moment(self) -> None:
        """The worst moment for a crash."""
        if self.at_its_worst is not None:
            self.excused["EmptySides"] = (
                "nobody is at work until the Lease of the killed one runs out"
            )
            await self.at_its_worst()

    async def is_explained(self, user: str = "developer") -> None:
        """Run `why`, and the commands that it prints; only for one form, and only while the release is at rest."""
        if self.form is not self.row.asked:
            return
        self.explained += why.lines_of(await self._moonshift("why", "shop", user=user))
        await why.type_those_that_look(self.plane, self.explained)

    # --- what is typed ----------------------------------------------------------------------------

    async def does(self, command: str, *, user: str = "developer", fails: bool = False) -> str:
        """Run a command of the document; `<kind>` is the workload's kind. Its output is kept as printed."""
        self.done.append(command)
        words = shlex.split(command.replace("<kind>", self.form.resource))[1:]
        try:
            if words[0] == "moonshift":
                return await self._moonshift(*words[1:], user=user)
            return await self.types(*words, user=user)
        except CommandFailed as failed:
            if not fails:
                raise
            return str(failed)

    async def follows(self, command: str, action: Awaitable[object]) -> None:
        """Do what a command of `why` is about, which a person completes by a manifest, a number or an edit."""
        self.followed.append(command)
        await action

    async def goes_back(self) -> None:
        """`kubectl moonshift undo`."""
        await self.does(UNDO)
        self.expect_image(STABLE_IMAGE)

    async def approves(self) -> None:
        """`kubectl moonshift approve`: the step that waits."""
        since = self.newest()
        await self.does(APPROVE, user="approver")
        self.was_approved(since)

    async def replaces(self, body: JsonObject) -> None:
        """`kubectl replace`, repeated if another write came between its read and its write, as a person would do it."""
        for _ in range(REPEATS):
            try:
                await self.types("replace", "-f", "-", body=body)
            except CommandFailed as failed:
                if "(Conflict)" not in str(failed):
                    raise
            else:
                return
        raise AssertionError(f"replaced {REPEATS} times, and each time somebody else wrote first")

    async def types(
        self, *words: str, user: str = "developer", body: JsonObject | None = None
    ) -> str:
        """Run kubectl in the namespace; its output, warnings and refusals are kept."""
        try:
            output, warned = await self.plane.kubectl_with_warnings(
                *words,
                *("-n", self.app.namespace),
                user=user,
                input=None if body is None else yaml.safe_dump(body),
            )
        except CommandFailed as failed:
            self.answers.append(Message("refused", _words_of(failed)))
            raise
        self.answers += [Message("printed", line) for line in output.splitlines()]
        self.answers += [
            Message("warned", line.removeprefix("Warning: ")) for line in warned.splitlines()
        ]
        return output

    async def _moonshift(self, *words: str, user: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PLUGIN, *words, "-n", self.app.namespace),
            *("--kubeconfig", str(self.plane.kubeconfig(user))),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(CLI_SECONDS):
            output, errors = await process.communicate()
        self.answers += [Message("printed", line) for line in output.decode().splitlines()]
        self.answers += [Message("printed", line) for line in errors.decode().splitlines()]
        self.answers.append(Message("exit code", str(process.returncode)))
        if process.returncode == 1:
            raise CommandFailed(f"{' '.join(words)}: {errors.decode().strip()}")
        return output.decode() + errors.decode()

    async def is_refused(self, request: Awaitable[object]) -> str:
        """Send a request that must be refused; the message is recorded."""
        try:
            await request
        except (RequestRefused, CommandFailed) as refused:
            self.answers.append(Message("refused", _words_of(refused)))
            return str(refused)
        raise AssertionError("it was not refused")

    # --- what is heard ----------------------------------------------------------------------------

    async def message(self, number: int = 0, seconds: float = RELEASE_SECONDS) -> Change:
        """Wait until a message of the row (the first, or another) appears."""
        wanted = self.row.says[number]
        return await self.recorder.until(
            lambda c: (
                c.resource_version > self._last
                and any(map(wanted.same_as, messages_in(c, self.app.namespace)))
            ),
            seconds,
        )

    async def eventually(self, holds: Callable[[State], bool], what: str) -> None:
        """Wait until the present state satisfies the condition."""
        await self.recorder.caught_up()
        try:
            await self.recorder.until_state(
                lambda state: holds(self._here(state)), PATIENCE_SECONDS
            )
        except NotReady as late:
            text = f"never so: {what}\n{late}\n{self.report()}\n{self._pods()}"
            raise NotReady(text) from late

    async def never(self, seconds: float, happens: Callable[[Change], bool]) -> None:
        """Check that a change does not happen for a while: the test is about the length of this time."""
        await self.recorder.caught_up()
        seen = {change.resource_version for change in self.recorder.history()}

        def news(change: Change) -> bool:
            ours = change.key.namespace == self.app.namespace
            return ours and change.resource_version not in seen and happens(change)

        with contextlib.suppress(NotReady):
            found = await self.recorder.until(news, seconds)
            raise AssertionError(f"it happened: {found.key} {found.object.get('status')}")

    async def labelled_again(self) -> None:
        """The workload carries the label that admission selects by, now."""
        key = self.key(self.workload)
        await self.eventually(
            lambda state: WORKLOAD_TYPE in (state[key]["metadata"].get("labels") or {}),
            "the workload is labelled",
        )

    async def at_its_share(self) -> int:
        """The step waits for its approval and has the right numbers of ready new and old pods; returns the step."""
        await self.eventually(self._shares, "the pods are those of the step")
        return step_of(await self.status())

    def _shares(self, state: State) -> bool:
        status = state.get(self.key(ROLLOUTS), {}).get("status") or {}
        inner = sub_status(status)
        if inner.get("currentStepState") != "StepPaused" or status.get("phase") != "Progressing":
            return False
        share = self.app.steps[inner["currentStepIndex"] - 1].traffic or 0
        new = -(-share * self.size // 100)
        old = self.size if self.app.beside else self.size - new
        found = [pod for pod in _pods_in(state, self.app.name) if not deleting(pod)]
        if not all(map(ready, found)):
            return False
        images = [image_of(pod) for pod in found]
        return images.count(STABLE_IMAGE) == old and len(images) - old == new

    async def gets_its_traffic(self) -> None:
        """If the workload has a VirtualService, the new version gets the share of the step."""

        def so(state: State) -> bool:
            view = View(self.app.namespace)
            for key, obj in self._here(state).items():
                view.apply(Change(0, "EXISTED", key, obj))
            step = step_of(state[self.key(ROLLOUTS)].get("status") or {})
            found = {
                place.weight
                for place in view.destinations(self.app.name)
                if place.is_canary(self.app)
            }
            return found == {self.app.steps[step - 1].traffic}

        if self.app.virtual_service:
            await self.eventually(so, "the new version gets the share of the step")

    async def runs(self, *, old: int, new: int) -> None:
        """Wait until exactly these numbers of pods of each version are ready."""

        def so(state: State) -> bool:
            found = [pod for pod in _pods_in(state, self.app.name) if not deleting(pod)]
            images = [image_of(pod) for pod in found if ready(pod)]
            return (
                len(found) == old + new and images.count(STABLE_IMAGE) == old == len(images) - new
            )

        await self.eventually(so, f"{old} old and {new} new pods")

    async def flicker(self) -> None:
        """Scale to zero and at once back to the former size: for the owner nothing has changed."""
        path = f"{path_of(self.key(self.workload))}/scale"
        for size in (0, self.size):
            await self.client.patch(path, {"spec": {"replicas": size}})

    async def made_again(self, kind: Kind) -> None:
        """A Service that is created again has another address."""
        key = self.key(kind)
        live = await self.client.get(path_of(key))
        for name in ("clusterIP", "clusterIPs"):
            self.expected[key]["spec"][name] = live["spec"][name]

    async def no_pods(self) -> None:
        """The last pod has gone."""
        await self.eventually(lambda state: not _pods_in(state, self.app.name), "no pod is left")

    def _here(self, state: Mapping[Key, JsonObject]) -> State:
        return {key: obj for key, obj in state.items() if key.namespace == self.app.namespace}

    def _pods(self) -> str:
        reported = (
            f"{pod['metadata']['name']} {image_of(pod)} {'ready' if ready(pod) else 'not ready'}"
            for pod in self.pods()
        )
        return "\n".join(reported)

    async def stalled(self, reason: str = "") -> str:
        """Wait until the Rollout is Stalled; returns the message."""
        key = self.key(ROLLOUTS)

        def is_stalled(state: State) -> bool:
            found = condition(state.get(key, {}).get("status") or {}, "Stalled")
            return found.get("status") == "True" and reason in ("", found["reason"])

        await self.eventually(is_stalled, f"Stalled {reason}")
        return str(condition(await self.status(), "Stalled")["message"])

    async def goes_on(self) -> None:
        """The Rollout is not Stalled any more."""
        key = self.key(ROLLOUTS)
        await self.eventually(
            lambda state: (
                condition(state.get(key, {}).get("status") or {}, "Stalled").get("status") != "True"
            ),
            "not Stalled",
        )

    async def is_about_another_than(self, revision: str) -> None:
        """The release of another template has begun; earlier changes are not checked any more."""
        begun = await self.rollout(lambda found: revision_of(found) != revision)
        self._last = begun.resource_version

    def messages(self) -> Iterator[Message]:
        """All messages of the scene."""
        yield from self.answers
        for change in self.recorder.history():
            yield from messages_in(change, self.app.namespace)

    # --- the judgement ----------------------------------------------------------------------------

    async def violations(self, *, ended: bool = True) -> list[Violation]:
        """Every broken rule except the rules that the trouble itself breaks."""
        found = await super().violations(ended=ended)
        return [violation for violation in found if violation.rule not in self.excused]

    def unsaid(self) -> list[Message]:
        """Messages of the row that did not appear."""
        heard = {*self.messages()}
        return [messages for messages in self.row.says if not any(map(messages.same_as, heard))]

    def unhelped(self) -> list[str]:
        """The commands that `why` offers where it was asked; empty if one of them was run or followed."""
        if self.form is not self.row.asked:
            return []
        offered = why.changing(self.row.why)
        typed = [text.replace("<kind>", self.form.resource) for text in self.done]
        return [] if {*offered} & {*typed, *self.followed} else offered

    def unexplained(self) -> list[str]:
        """Lines of the row that `why` did not print, where it was asked."""
        if self.form is not self.row.asked:
            return []
        reported = self.explained
        return [
            line
            for line in self.row.explained
            if not any(map(pattern_of(line).fullmatch, reported))
        ]


def _pods_in(state: State, app: str) -> list[JsonObject]:
    return [
        obj
        for key, obj in state.items()
        if key.kind == PODS and obj["metadata"].get("labels", {}).get("app") == app
    ]


def messages_in(change: Change, namespace: str) -> Iterator[Message]:
    """The messages in an object of the namespace at one revision."""
    if change.key.namespace != namespace or change.type == "DELETED":
        return
    if change.key.kind == EVENTS:
        yield Message(f"Event {change.object['reason']}", change.object.get("message") or "")
    if change.key.kind == ROLLOUTS:
        status = change.object.get("status") or {}
        yield Message("message", status.get("message") or "")
        for condition in status.get("conditions") or ():
            held = condition["status"] == "True"
            if held or condition["type"] in ("Succeeded", "Progressing", "Ready"):
                where = f"{condition['type']} {condition['reason']}"
                yield Message(where, condition.get("message") or "")


def _words_of(refused: Exception) -> str:
    """The words of the command without the leading words that name the program."""
    return str(refused).partition(": ")[2].strip()
