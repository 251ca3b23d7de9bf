"""Each command that `why` offers is executed in its own situation, and ends it.

The situations are releases in the simulated cluster; the views and the offered commands are the program's own. A
command that only reads is not executed here. Every reason of a stall has a situation: a new reason needs one.
"""

import pytest
from msgspec import structs

from controller.cli.remedies.remedy_table import TABLE, remedies
from controller.cli.render.words import hint
from controller.cli.views.look import look_at
from controller.domain.rollout.words.status import condition
from tests.unit.builders import KEY, status_of, wait
from tests.unit.cli.situations import SITUATIONS
from tests.unit.cli.situations.pods import (
    beside_lost_stable_pods,
    beside_lost_stable_pods_and_another_template,
)
from tests.unit.cli.situations.situation import Situation
from tests.unit.worlds import World

LOOKS = ("get", "describe", "logs", "auth", "api-resources", "moonshift describe")
PROGRAM = "kubectl moonshift"


def test_every_reason_has_a_situation() -> None:
    here = {situation.reason for situation in SITUATIONS.values()}
    assert here - {""} == set(TABLE)


def offered(situation: Situation, world: World) -> list[str]:
    """The commands that `why` prints, without the namespace."""
    seen = world.observe(KEY)
    assert seen is not None
    view = look_at(seen, world.cluster.now, {})
    if situation.no_way_back:
        view = structs.replace(view, no_way_back="no object keeps the template")
    found = remedies(view, PROGRAM)
    return [remedy.command.removeprefix("kubectl ") for remedy in found]


def reason_of(world: World) -> str:
    found = condition(status_of(world), "Stalled")
    return found.reason if found is not None and found.status == "True" else ""


def lasts(situation: Situation, world: World) -> bool:
    """The situation is still there."""
    if situation.lasts is not None:
        return situation.lasts(world)
    return reason_of(world) == situation.reason


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_command_that_why_offers_ends_its_situation(name: str) -> None:
    situation = SITUATIONS[name]
    world = situation.begin()
    assert reason_of(world) == situation.reason
    commands = [words for words in offered(situation, world) if not words.startswith(LOOKS)]
    assert bool(commands) == bool(situation.acts)
    for command in commands:
        act = next(
            (act for words, act in situation.acts.items() if command.startswith(words)), None
        )
        assert act is not None, f"{name}: nothing is known of {command}"
        again = situation.begin()
        act(again)
        wait(again, 300)
        assert not lasts(situation, again), f"{name}: {command} does not help"


def test_no_line_asks_for_an_approval_while_another_template_waits() -> None:
    """Nothing would come of it; `get` prints this command behind its first line."""

    def shown(world: World) -> str:
        seen = world.observe(KEY)
        assert seen is not None
        return hint(look_at(seen, world.cluster.now, {}).summary, PROGRAM)

    assert "approve" in shown(beside_lost_stable_pods())
    assert shown(beside_lost_stable_pods_and_another_template()) == ""
