"""The state of one check, with its new answers counted.

Invariant: pure. Each answer has a number; it counts only if it has the next one, so an answer that comes twice, or that
an earlier leader asked for, counts once. Nothing but an answer in words, or the end of its time, ends a check: a script
with an error, or a system that cannot be reached, holds.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import assert_never

from msgspec import structs

from controller.api.checks import Check, CheckRecord, CheckRun, CheckVerdict
from controller.api.duration import later, of_seconds
from controller.domain.decision.value import Value

SHORTEST_WAIT = 5.0
USUAL_WAIT = 30.0
"""Seconds until a check that holds is asked again, if it does not say when; and after an error."""
CHARACTERS_OF_AN_ID = 32
CHARACTERS_OF_WORDS = 300


class Passes(Value, frozen=True, tag=True):
    """The release may go on."""

    words: str


class Holds(Value, frozen=True, tag=True):
    """The release waits; the check is asked again after `again` seconds, with `state`."""

    words: str
    again: float | None = None
    state: str = ""


class Fails(Value, frozen=True, tag=True):
    """The release is not to go on."""

    words: str


class Keeps(Value, frozen=True, tag=True):
    """The check is not done: `state` is stored before it sends its next requests."""

    state: str


class Errs(Value, frozen=True, tag=True):
    """There is no answer, and why."""

    words: str


Said = Passes | Holds | Fails | Keeps | Errs


class CheckAnswer(Value, frozen=True):
    """An answer of the check with this id, and the number that it has."""

    id: str
    turn: int
    at: datetime
    said: Said


def identity(*parts: str) -> str:
    """The name of a check for the asked system: the same in all turns, and for another leader."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:CHARACTERS_OF_AN_ID]


def counted(check: Check, run: CheckRun, answers: Iterable[CheckAnswer], now: datetime) -> CheckRun:
    """`run` with a new answer; failed when its time is over."""
    if run.verdict != CheckVerdict.RUNNING:
        return run
    for answer in answers:
        if (answer.id, answer.turn) == (run.id, run.turn + 1):
            run = _with(run, answer, now)
    ends = end_of(check, run, now)
    if run.verdict != CheckVerdict.RUNNING or now < ends:
        return run
    said = f": {run.message}" if run.message else ""
    words = f"no yes within {check.timeout_seconds} s{said}"
    return _ended(run, CheckVerdict.FAILED, words, now)


def _with(run: CheckRun, answer: CheckAnswer, now: datetime) -> CheckRun:
    run = structs.replace(run, turn=answer.turn, asked_at=answer.at, again_at=None)
    match answer.said:
        case Passes(words):
            return _ended(run, CheckVerdict.PASSED, words, now)
        case Fails(words):
            return _ended(run, CheckVerdict.FAILED, words, now)
        case Holds(words, again, state):
            wait = USUAL_WAIT if again is None else max(again, SHORTEST_WAIT)
            return _waiting(structs.replace(run, state=state), words, answer.at, wait)
        case Keeps(state):
            return structs.replace(run, state=state)
        case Errs(words):
            return _waiting(run, words, answer.at, USUAL_WAIT)
        case other:
            assert_never(other)


def _waiting(run: CheckRun, words: str, since: datetime, seconds: float) -> CheckRun:
    again = since + timedelta(seconds=seconds)
    return structs.replace(run, message=words[:CHARACTERS_OF_WORDS], again_at=again)


def _ended(run: CheckRun, verdict: CheckVerdict, words: str, now: datetime) -> CheckRun:
    return structs.replace(
        run,
        verdict=verdict,
        message=words[:CHARACTERS_OF_WORDS],
        state="",
        again_at=None,
        finished_at=now,
    )


def end_of(check: Check, run: CheckRun, now: datetime) -> datetime:
    """When the check has held the release for too long."""
    return later(run.started_at or now, of_seconds(check.timeout_seconds))


def due(check: Check, run: CheckRun, now: datetime) -> datetime:
    """When a check without a verdict is looked at next, if no answer comes before."""
    ends = end_of(check, run, now)
    return ends if run.again_at is None else min(run.again_at, ends)


def is_asked(run: CheckRun, now: datetime) -> bool:
    """Whether an answer is wanted now."""
    return run.verdict == CheckVerdict.RUNNING and (run.again_at is None or run.again_at <= now)


def for_record(run: CheckRun) -> CheckRecord:
    """A check that has ended, for the record of its release."""
    return CheckRecord(run.name, run.at, run.verdict, run.message, run.started_at, run.finished_at)
