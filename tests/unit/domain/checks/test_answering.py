"""An answer counts once and in its turn; only words or the end of its time end a check."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from controller.api.checks import Check, CheckRun, CheckVerdict
from controller.api.rollout import Rollout
from controller.domain.checks.answering import (
    CheckAnswer,
    Errs,
    Fails,
    Holds,
    Keeps,
    Passes,
    Said,
    counted,
    due,
    is_asked,
)
from controller.domain.checks.question import checks_in

NOW = datetime(2026, 11, 27, 20, tzinfo=UTC)
CHECK = Check(name="change", script="servicenow", timeout_seconds=600)
RUN = CheckRun(step=1, at="routed", name="change", id="one", started_at=NOW)


def after(said: Said, run: CheckRun = RUN, turn: int = 1, id: str = "one") -> CheckRun:
    return counted(CHECK, run, (CheckAnswer(id, turn, NOW, said),), NOW)


@pytest.mark.parametrize(
    ("said", "verdict", "message", "wait", "state"),
    [
        (Passes("approved"), "Passed", "approved", None, ""),
        (Fails("rejected"), "Failed", "rejected", None, ""),
        (Holds("waits for Ann"), "Running", "waits for Ann", 30, ""),
        (Holds("waits", 90, '{"run":1}'), "Running", "waits", 90, '{"run":1}'),
        (Holds("too eager", 0.5), "Running", "too eager", 5, ""),
        (Keeps('{"run":1}'), "Running", "", None, '{"run":1}'),
        (Errs("no such host"), "Running", "no such host", 30, "{}"),
    ],
)
def test_what_an_answer_makes_of_a_check(
    said: Said, verdict: str, message: str, wait: float | None, state: str
) -> None:
    found = after(said, structs.replace(RUN, state="{}"))
    assert (found.verdict, found.message, found.turn) == (verdict, message, 1)
    again = None if found.again_at is None else (found.again_at - NOW).total_seconds()
    assert again == wait
    assert found.state == state
    assert (found.finished_at is None) == (verdict == "Running")


@pytest.mark.parametrize(
    ("turn", "id"),
    [(0, "one"), (2, "one"), (1, "two")],
)
def test_an_answer_of_another_turn_or_another_check_counts_for_nothing(turn: int, id: str) -> None:
    assert after(Passes("yes"), turn=turn, id=id) == RUN


def test_an_answer_that_comes_twice_counts_once() -> None:
    held = after(Holds("not yet", 60))
    assert after(Holds("not yet", 60), held) == held


def test_a_verdict_is_final() -> None:
    failed = after(Fails("no"))
    assert counted(CHECK, failed, (CheckAnswer("one", 2, NOW, Passes("yes")),), NOW) == failed


def test_long_words_are_cut() -> None:
    assert len(after(Holds("x" * 999)).message) == 300


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("", "no yes within 600 s"),
        ("not approved", "no yes within 600 s: not approved"),
    ],
)
def test_a_check_fails_when_its_time_is_over(message: str, words: str) -> None:
    run = structs.replace(RUN, message=message)
    just_before = counted(CHECK, run, (), NOW + timedelta(seconds=599))
    assert just_before.verdict == CheckVerdict.RUNNING
    over = counted(CHECK, run, (), NOW + timedelta(seconds=600))
    assert (over.verdict, over.message) == (CheckVerdict.FAILED, words)


def test_an_answer_at_the_end_of_its_time_counts() -> None:
    late = NOW + timedelta(seconds=700)
    found = counted(CHECK, RUN, (CheckAnswer("one", 1, late, Passes("yes")),), late)
    assert found.verdict == CheckVerdict.PASSED


def test_a_check_that_holds_is_asked_again_when_it_said_so_and_not_before() -> None:
    held = after(Holds("not yet", 60))
    assert not is_asked(held, NOW + timedelta(seconds=59))
    assert is_asked(held, NOW + timedelta(seconds=60))
    assert due(CHECK, held, NOW) == NOW + timedelta(seconds=60)


def test_a_check_is_looked_at_when_its_time_is_over_although_it_wants_to_be_asked_later() -> None:
    held = after(Holds("tomorrow", 86400))
    assert due(CHECK, held, NOW) == NOW + timedelta(seconds=600)


def test_a_check_with_a_verdict_is_not_asked() -> None:
    assert not is_asked(after(Passes("yes")), NOW)


def test_a_rollout_without_a_plan_has_no_checks() -> None:
    assert [*checks_in(Rollout())] == []
