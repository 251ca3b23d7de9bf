"""Checks in progress and their answers: a pass asks, the answer arrives in the background, a later pass reads it.

Invariant: one conversation of a check at a time. A script that wants something kept waits, with its requests unsent,
until a pass asks for the next answer, which it does only when the status has what is to be kept. Nothing here outlives
the process: another one begins a conversation again, from the state that the status has.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from datetime import datetime

from controller.api.meta import Key
from controller.domain.checks.answering import (
    CheckAnswer,
    Errs,
    Fails,
    Holds,
    Keeps,
    Passes,
    Said,
)
from controller.domain.checks.question import source_of
from controller.domain.decision import AskCheck
from controller.domain.exchange.answer import Does, FailedCheck, Held, Passed
from controller.domain.exchange.release import about_checked
from controller.domain.exchange.turn_input import Question
from controller.domain.gates.in_source import parameters
from controller.domain.gates.templates import own_script
from controller.domain.traffic.tree import Tree, decode_tree, encode
from controller.outbound.exchanging import Call, Ended, Exchanging, Keep
from controller.outbound.fetching import Failed
from controller.outbound.script_runs import Wanted

Place = tuple[Key, str]
"""A Rollout, and the id of a check."""
LEAST_SECONDS = 1.0
_log = logging.getLogger(__name__)


class _Conversation:
    """One conversation: the number of the answer that it will give, or that it waits to be asked for."""

    def __init__(self, turn: int) -> None:
        self.turn = turn
        self.stored = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def kept(self) -> None:
        """Returns when the next answer is wanted: what was to be kept is in the status."""
        self.turn += 1
        self.stored.clear()
        await self.stored.wait()

    def end(self) -> None:
        """Nobody waits for it any more."""
        if self.task is not None:
            self.task.cancel()


class Checking:
    """All checks of one process."""

    def __init__(
        self, exchanging: Exchanging, wake: Callable[[Key], None], now: Callable[[], datetime]
    ) -> None:
        self._exchanging = exchanging
        self._wake = wake
        self._now = now
        self._answers: dict[Place, CheckAnswer] = {}
        self._under_way: dict[Place, _Conversation] = {}

    def ask(self, key: Key, asked: AskCheck) -> None:
        """Ask, unless that is under way or answered already."""
        place = (key, asked.id)
        known = self._answers.get(place)
        if known is not None and known.turn == asked.turn:
            return
        going = self._under_way.get(place)
        if going is not None and going.turn == asked.turn:
            going.stored.set()
            return
        if going is not None:
            going.end()
        begun = _Conversation(asked.turn)
        begun.task = asyncio.create_task(self._converse(key, asked, begun), name=f"check {key}")
        self._under_way[place] = begun

    def answers(self, key: Key, running: Collection[str]) -> tuple[CheckAnswer, ...]:
        """The answers for the checks of a Rollout with these ids; conversations of all others end."""
        self._keep_only(key, running)
        return tuple(answer for (owner, _), answer in self._answers.items() if owner == key)

    def forget(self, key: Key) -> None:
        """The Rollout is gone, or the work of another process."""
        self._keep_only(key, ())

    async def aclose(self) -> None:
        """End every conversation."""
        tasks = [one.task for one in self._under_way.values() if one.task is not None]
        self._under_way.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _keep_only(self, key: Key, running: Collection[str]) -> None:
        for place in [one for one in self._answers if one[0] == key and one[1] not in running]:
            del self._answers[place]
        for place in [one for one in self._under_way if one[0] == key and one[1] not in running]:
            self._under_way.pop(place).end()

    async def _converse(self, key: Key, asked: AskCheck, going: _Conversation) -> None:
        async def keep(state: Tree | None) -> None:
            said = Keeps(_as_text(state))
            self._answered(key, CheckAnswer(asked.id, going.turn, self._now(), said))
            await going.kept()

        said = await self._said(key, asked, keep)
        del self._under_way[key, asked.id]
        self._answered(key, CheckAnswer(asked.id, going.turn, self._now(), said))

    def _answered(self, key: Key, answer: CheckAnswer) -> None:
        self._answers[key, answer.id] = answer
        self._wake(key)

    async def _said(self, key: Key, asked: AskCheck, keep: Keep) -> Said:
        try:
            outcome = await self._exchanging.called(self._call(key, asked, keep))
        except Failed as failed:
            return Errs(str(failed))
        except Exception as unexpected:
            _log.exception("a check could not be asked", extra={"check": asked.check.name})
            return Errs(type(unexpected).__name__)
        return _said_by(outcome.ended)

    def _call(self, key: Key, asked: AskCheck, keep: Keep) -> Call:
        source = source_of(asked.check)
        own = None if source.script_ref is None else own_script(source, key.namespace)
        return Call(
            Wanted(Does.CHECK, source.script, key.namespace, own),
            Question(parameters(source), asked.id, about_checked(asked.release)),
            source.secrets,
            max((asked.until - self._now()).total_seconds(), LEAST_SECONDS),
            decode_tree(asked.state.encode()) if asked.state else None,
            keep,
        )


def _said_by(ended: Ended) -> Said:
    match ended:
        case Passed(words):
            return Passes(words)
        case Held(words, again, state):
            return Holds(words, again, _as_text(state))
        case FailedCheck(words):
            return Fails(words)
        case _:
            return Errs("the script gave an answer that is none of a check")


def _as_text(state: Tree | None) -> str:
    return "" if state is None else encode(state).decode()
