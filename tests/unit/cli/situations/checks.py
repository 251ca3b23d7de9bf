"""Situations of checks: they fail, or cannot be asked as they are written."""

import msgspec
from msgspec import structs

from controller.api.checks import Check
from controller.api.rollout import RolloutSpec
from controller.domain import reasons
from controller.domain.checks.answering import Fails, Passes
from tests.unit.builders import wait
from tests.unit.cli.situations.situation import Situation, promote, retry, rollout_edited, undo
from tests.unit.domain.rollout.approvals.test_checking import BEFORE, check, checked
from tests.unit.worlds import World

WORD = Check(name="c", script="http", params={"address": msgspec.Raw(b'"{{ nobody }}"')})


def that_fails() -> World:
    return checked(check("c"), says={"c": (Fails("rejected"),)})


def that_fails_before_the_pods() -> World:
    return checked(check("c", BEFORE), says={"c": (Fails("rejected"),)})


def with_a_word_that_has_no_value() -> World:
    return checked(WORD)


def asked_again(world: World) -> None:
    """`moonshift retry`, after the other system has changed its mind."""
    world.passes.checks.series["c"] = (Passes("approved"),)
    retry(world)
    wait(world, 20)


def without_checks(spec: RolloutSpec) -> RolloutSpec:
    canary = spec.strategy.canary
    assert canary is not None
    steps = tuple(structs.replace(step, checks=()) for step in canary.steps)
    plan = structs.replace(canary, steps=steps)
    return structs.replace(spec, strategy=structs.replace(spec.strategy, canary=plan))


WAYS = {"moonshift undo": undo, "moonshift retry": asked_again}

SITUATIONS: dict[str, Situation] = {
    "a check that fails": Situation(
        reasons.CHECK_FAILED, that_fails, {**WAYS, "moonshift approve": promote}
    ),
    "a check that fails before the pods": Situation(
        reasons.CHECK_FAILED, that_fails_before_the_pods, WAYS
    ),
    "a check with a word that has no value": Situation(
        reasons.INVALID_CHECK,
        with_a_word_that_has_no_value,
        {"edit rollout": rollout_edited(without_checks), "moonshift undo": undo},
    ),
}
