"""The turns of a script that asks: it is run, its requests are sent, and it is run again with the answers.

Invariant: a value of a Secret never reaches the script, and no mark leaves the controller. The header is checked before
the script runs, and each request before it is sent. A script ends within its turns and its seconds; it may begin with a
state that an earlier run left, so a check can go on under another leader.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from itertools import count

import msgspec

from controller.api.analysis import Header, SecretKey
from controller.domain.decision.value import Value
from controller.domain.exchange.answer import (
    Asks,
    FailedCheck,
    Held,
    Later,
    Passed,
    Sent,
    SourceValue,
    read_turn,
)
from controller.domain.exchange.declared import (
    SECRETS_OF_A_SIGNATURE,
    Given,
    undeclared,
    why_not_run,
)
from controller.domain.exchange.fields import Refused
from controller.domain.exchange.limits import SECONDS, TURNS
from controller.domain.exchange.marks import BYTES_OF_A_MARK, Marks, marks_for
from controller.domain.exchange.placing import Outgoing, Placed, placed, unfit_result
from controller.domain.exchange.request import ObjectRequest, Signature
from controller.domain.exchange.turn_input import (
    Answered,
    HttpAnswer,
    ObjectAnswer,
    Question,
    turn_input,
)
from controller.domain.traffic.tree import Tree
from controller.outbound.confidential import scrubbed_words
from controller.outbound.fetching import Failed, Fetching, Request
from controller.outbound.request import Signing
from controller.outbound.script_runs import AskingScripts, FoundScript, Wanted

Keep = Callable[[Tree | None], Awaitable[None]]
"""Returns when a state of a script is stored."""
Ended = SourceValue | Passed | Held | FailedCheck | Sent | Later


class Call(Value, frozen=True):
    """A script with everything that it is given; `state` is what an earlier run left.

    With `keep` a new state is kept before the script's requests are sent, and a script that waits between its turns may
    have any number of them.
    """

    wanted: Wanted
    question: Question
    secrets: Mapping[str, SecretKey]
    seconds: float = SECONDS
    state: Tree | None = None
    keep: Keep | None = None


class Outcome(Value, frozen=True):
    """How a call ended, and its first request in words, without any value."""

    ended: Ended
    asked: str = ""


class Exchanging:
    """Runs scripts that ask."""

    def __init__(
        self,
        fetching: Fetching,
        scripts: AskingScripts,
        now: Callable[[], datetime],
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._fetching = fetching
        self._scripts = scripts
        self._now = now
        self._entropy = entropy

    async def called(self, call: Call) -> Outcome:
        """The last answer of the script. Raises `Failed`, without a value of a Secret in its text."""
        script = self._scripts.find(call.wanted)
        given = Given(call.question.params, call.secrets)
        if why := why_not_run(call.wanted.does, script.header, given):
            raise Failed(f"{call.wanted}: {why}")
        secrets = {one.name for one in call.secrets.values()}
        await self._scripts.may_use(call.wanted, sorted(secrets))
        try:
            async with asyncio.timeout(call.seconds):
                return await _Run(call, script, self._fetching, self._scripts, self).ended()
        except TimeoutError as error:
            raise Failed(f"{call.wanted}: no answer within {call.seconds:g} s") from error

    def problem(self, wanted: Wanted, params: Iterable[str], secrets: Iterable[str]) -> str:
        """Why a script cannot be run with these names; empty if it can. Nothing is sent."""
        try:
            header = self._scripts.find(wanted).header
        except Failed as missing:
            return str(missing)
        return why_not_run(wanted.does, header, Given(params, secrets))

    def time(self) -> int:
        """Seconds since 1970."""
        return int(self._now().timestamp())

    def marks(self, secrets: Mapping[str, SecretKey]) -> Marks:
        """New marks."""
        return marks_for(secrets, self._entropy(BYTES_OF_A_MARK * len(secrets)))


class _Run:
    """One call; `confidential` are the texts that have been sent in it."""

    def __init__(
        self,
        call: Call,
        script: FoundScript,
        fetching: Fetching,
        scripts: AskingScripts,
        owner: Exchanging,
    ) -> None:
        self._call = call
        self._script = script
        self._fetching = fetching
        self._scripts = scripts
        self._owner = owner
        self._confidential: set[str] = set()
        self._first = ""

    async def ended(self) -> Outcome:
        """All turns."""
        answers: tuple[Answered, ...] = ()
        state = self._call.state
        left = TURNS
        for turn in count(1):
            if not left:
                break
            marks = self._owner.marks(self._call.secrets)
            found = await self._turn(marks, turn, answers, state)
            if not isinstance(found, Asks):
                return Outcome(self._without_secrets(found, marks), self._first)
            sent = placed(found, marks)
            refused = sent if isinstance(sent, Refused) else undeclared(self._script.header, sent)
            if refused is not None:
                raise self._failed(str(refused), marks)
            assert not isinstance(sent, Refused)
            self._first = self._first or marks.without(found.requests[0].shown)
            if self._call.keep is not None and found.state != state:
                await self._call.keep(found.state)
            await asyncio.sleep(found.again)
            answers = await self._answers(sent)
            state = found.state
            left = TURNS if self._call.keep is not None and found.again else left - 1
        raise Failed(f"{self._call.wanted}: it asks again and again, and may ask in {TURNS} turns")

    async def _turn(
        self, marks: Marks, turn: int, answers: tuple[Answered, ...], state: Tree | None
    ) -> Asks | Ended:
        question = self._call.question
        obj = turn_input(question, marks, self._owner.time(), turn, answers, state)
        try:
            result = await self._script.run(
                obj, tenant=self._call.wanted.namespace, request_id=f"{question.id}/{turn}"
            )
        except Failed as failed:
            raise self._failed(str(failed), marks) from None
        found = read_turn(self._call.wanted.does, result)
        refused = found if isinstance(found, Refused) else None
        if not isinstance(found, Asks):
            refused = refused or unfit_result(found)
        if refused is not None:
            raise self._failed(str(refused), marks)
        assert not isinstance(found, Refused)
        return found

    async def _answers(self, requests: tuple[Placed, ...]) -> tuple[Answered, ...]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._answer(one)) for one in requests]
        except* Failed as failures:
            raise _first(failures) from None
        return tuple(task.result() for task in tasks)

    async def _answer(self, asked: Placed) -> Answered:
        match asked:
            case ObjectRequest():
                return ObjectAnswer(await self._scripts.object(self._call.wanted, asked))
            case Outgoing():
                found = await self._fetching.answered(self._request(asked), self._confidential)
                body = found.body.decode(errors="replace")
                return HttpAnswer(found.status, found.headers, body)

    def _request(self, asked: Outgoing) -> Request:
        return Request(
            self._call.wanted.namespace,
            asked.url,
            form=asked.form,
            headers=tuple(Header(name, text) for name, text in asked.headers),
            method=asked.method,
            body=asked.body,
            is_json=asked.is_json,
            basic=asked.basic,
            signing=None if asked.sign is None else self._signing(asked.sign),
            by_script=True,
            timeout_seconds=min(self._call.seconds, SECONDS),
        )

    def _signing(self, by: Signature) -> Signing:
        """The keys that the signature needs, of the secrets that the script was given."""
        given, region = self._call.secrets, self._call.question.params.get("region")
        wanted = SECRETS_OF_A_SIGNATURE[by]
        if missing := [one.name for one in wanted if one.needed and one.name not in given]:
            raise Failed(f"{self._call.wanted}: a signature by {by} needs the secret {missing[0]}")
        return Signing(
            by,
            self._script.header.signs_for,
            region if isinstance(region, str) else "",
            tuple((one.name, given[one.name]) for one in wanted if one.name in given),
            self._owner.time(),
        )

    def _failed(self, words: str, marks: Marks) -> Failed:
        return Failed(f"{self._call.wanted}: {self._hidden(words, marks)}")

    def _hidden(self, words: str, marks: Marks) -> str:
        return scrubbed_words(marks.without(words), self._confidential)

    def _without_secrets(self, ended: Ended, marks: Marks) -> Ended:
        """The same end with words that everybody may read."""
        names = {"words", "why"} & set(ended.__struct_fields__)
        hidden = {name: self._hidden(getattr(ended, name), marks) for name in names}
        return msgspec.structs.replace(ended, **hidden)


def _first(failure: BaseException) -> BaseException:
    """The failure itself, not the group that it came in."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure
