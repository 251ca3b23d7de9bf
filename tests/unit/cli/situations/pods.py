"""Situations of pods that fail or are lost, and of versions that are taken back."""

from msgspec import structs

from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    make_rollout,
    make_steps,
    make_strategy,
    make_world,
    release,
    status_of,
    template,
    wait,
)
from tests.unit.cli.situations.situation import (
    Situation,
    owners_manifest_applied,
    promote,
    retry,
    the_template_so_far_applied_and_promoted,
    undo,
)
from tests.unit.domain.rollout.moving.test_from_zero import at_half
from tests.unit.domain.rollout.trouble.test_stable_gone import gone_on, lost_stable
from tests.unit.worlds import World


def with_pods_that_fail(rule: str = "") -> World:
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%")),
        progress_deadline_seconds=30,
        on_deadline_exceeded=rule,
    )
    world = make_world(make_rollout(strategy=strategy))
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))
    release(world)
    wait(world, 120)
    return world


def given_up_and_applied_again() -> World:
    world = with_pods_that_fail("Rollback")
    world.rest()
    world.people.heal()
    release(world)
    world.rest()
    return world


def given_up_and_good_now() -> World:
    """The rollback is complete, nothing is stalled, and the pods would be ready by now."""
    world = with_pods_that_fail("Rollback")
    world.rest()
    world.people.heal()
    return world


def retried_and_applied_again(world: World) -> None:
    """`moonshift retry`, and the owner applies the version again."""
    retry(world)
    release(world)


def is_still_given_up(world: World) -> bool:
    """The status still says so, or the version is held."""
    status = status_of(world)
    held = condition(status, "Stalled")
    kept = moonshift_status(status).failed_template
    return bool(kept) or (held is not None and held.status == "True")


def gone_on_by_itself() -> World:
    """The Deployment went to the new version while nobody answered, and no stable pod is left."""
    return gone_on(at_half("partition"))


def gone_on_with_a_template_that_is_kept_nowhere() -> World:
    return lost_stable(at_half("partition"))


def beside_lost_stable_pods() -> World:
    world = make_world(make_rollout(style="canary"))
    release(world)
    world.rest()
    stable = moonshift_status(status_of(world)).stable_revision
    world.people.fail_pods(frozenset({stable}))
    wait(world, 30)
    return world


def beside_lost_stable_pods_and_another_template() -> World:
    world = beside_lost_stable_pods()
    release(world, "v3")
    wait(world, 30)
    return world


def without_the_template_to_go_back_to() -> World:
    text = "ReplicaSet shop/web-1 is gone, and with it the template to go back to"
    return not_taken_back(Refusal(reasons.TEMPLATE_GONE, text))


def with_a_template_that_admission_refuses() -> World:
    return not_taken_back(Refusal(reasons.REVERT_REFUSED, "spec.strategy: cannot be held"))


def corrected(world: World) -> None:
    """`kubectl edit rollout web`: what admission refuses the template for."""
    world.people.grant("RevertTemplate")


def not_taken_back(refusal: Refusal) -> World:
    """The version is given up, and the old template cannot be written."""
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%")),
        progress_deadline_seconds=30,
        on_deadline_exceeded="Rollback",
    )
    world = make_world(make_rollout(strategy=strategy))
    world.people.forbid("RevertTemplate", refusal)
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))
    release(world)
    wait(world, 120)
    return world


SITUATIONS: dict[str, Situation] = {
    "a step that takes too long": Situation(
        reasons.DEADLINE_EXCEEDED, with_pods_that_fail, {"moonshift undo": undo}
    ),
    "a version that was given up": Situation(
        reasons.REVISION_FAILED, given_up_and_applied_again, {"moonshift retry": retry}
    ),
    "a version that was given up, and nobody applied again": Situation(
        "",
        given_up_and_good_now,
        {"moonshift retry": retried_and_applied_again},
        lasts=is_still_given_up,
    ),
    "no stable pod is left": Situation(
        reasons.STABLE_REVISION_GONE,
        gone_on_by_itself,
        {"moonshift undo": undo, "moonshift promote": promote},
    ),
    "no stable pod is left, and nothing keeps the template": Situation(
        reasons.STABLE_REVISION_GONE,
        gone_on_with_a_template_that_is_kept_nowhere,
        {"apply -f": owners_manifest_applied, "moonshift promote": promote},
        no_way_back=True,
    ),
    "no stable pod is ready": Situation(
        reasons.SIDE_WITHOUT_ENDPOINTS,
        beside_lost_stable_pods,
        {"moonshift approve": promote},
    ),
    "another template while no stable pod is ready": Situation(
        reasons.SIDE_WITHOUT_ENDPOINTS,
        beside_lost_stable_pods_and_another_template,
        {"apply -f": the_template_so_far_applied_and_promoted},
    ),
    "a template that admission refuses": Situation(
        reasons.REVERT_REFUSED,
        with_a_template_that_admission_refuses,
        {"edit rollout": corrected},
    ),
    "no template to go back to": Situation(
        reasons.TEMPLATE_GONE,
        without_the_template_to_go_back_to,
        {"apply -f": owners_manifest_applied},
    ),
}
