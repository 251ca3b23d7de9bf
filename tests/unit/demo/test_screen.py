"""The output of the demo in a pipe and on a terminal."""

import io
import time

import pytest
from rich.console import Console

from demo.claims import Claim, equal
from demo.frame import Moment
from demo.screen import Screen
from tests.unit.demo.objects import OLD, history, of_pod, state_of

STATE = state_of(history([of_pod(OLD)]))


def screen(terminal: bool = False) -> tuple[Screen, io.StringIO]:
    output = io.StringIO()
    console = Console(file=output, width=80, force_terminal=terminal)
    return Screen(console, time.monotonic()), output


async def test_a_pipe_gets_the_last_picture_once_and_no_control_characters() -> None:
    shown, output = screen()
    shown.scene("A scene", "What it is about.")
    async with shown.following(lambda _: Moment(STATE, STATE, "the pod"), "the pod"):
        pass
    text = output.getvalue()
    assert "\x1b" not in text
    assert text.count("● ready") == 1
    assert "waiting for the pod …" in text
    assert all(line == line.rstrip() for line in text.splitlines())


async def test_a_terminal_keeps_the_last_picture() -> None:
    shown, output = screen(terminal=True)
    async with shown.following(lambda _: Moment(STATE, STATE, "the pod"), "the pod"):
        pass
    assert "● ready" in output.getvalue()


async def test_a_failed_wait_shows_the_picture_and_the_status_of_the_rollout() -> None:
    shown, output = screen()
    with pytest.raises(TimeoutError):
        async with shown.following(lambda _: Moment(STATE, STATE, "the pod"), "the pod"):
            raise TimeoutError
    assert "waiting for the pod" in output.getvalue()
    assert "Rollout without a status" in output.getvalue()


def test_a_contradiction_is_shown_in_full() -> None:
    shown, output = screen()
    claims = [Claim("right"), equal("wrong", {"a": 1}, {"a": 2})]
    shown.claims(claims)
    shown.verdict(claims)
    assert "✓ right" in output.getvalue()
    assert "    -a: 2\n    +a: 1" in output.getvalue()
    assert "1 of 2 checks failed" in output.getvalue()


def test_the_verdict_counts_the_claims_that_held() -> None:
    shown, output = screen()
    shown.verdict([Claim("right")])
    assert "1 checks passed" in output.getvalue()


def test_values_that_look_alike_as_yaml_are_distinguished() -> None:
    assert equal("a tuple is no list", (1,), [1]).contradiction
