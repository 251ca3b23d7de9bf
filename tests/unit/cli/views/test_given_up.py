"""The commands name a version that was rolled back without a person, until another release begins."""

import pytest
from msgspec import structs

from controller.cli.output import plain
from controller.cli.remedies.remedy_table import remedies
from controller.cli.render.live_tree import rollout_tree
from controller.cli.render.why import answer
from controller.cli.views.look import look_at
from controller.cli.views.problems import problems_of
from controller.cli.views.progress import progress_of
from controller.cli.views.view import EventView, RolloutView
from controller.domain.rollout.words.release_context import moonshift_status
from tests.unit.builders import KEY, release, status_of, wait
from tests.unit.cli.situations.pods import given_up_and_good_now, with_pods_that_fail
from tests.unit.cli.situations.situation import promote, retry, undo
from tests.unit.worlds import World

HELD = (
    "when it is applied again, it is held until its template changes or you run "
    "kubectl moonshift retry web"
)
COMMAND = "kubectl moonshift retry web -n shop"


def view_of(world: World) -> RolloutView:
    seen = world.observe(KEY)
    assert seen is not None
    return look_at(seen, world.cluster.now, {})


def test_why_names_the_version_its_reason_and_the_command() -> None:
    world = given_up_and_good_now()
    because = "img:v2 (ReplicaSet web-1) is given up: step(1): not ready within 30 s"
    view = view_of(world)
    told = (
        EventView("Warning", "RevisionGivenUp", "img:v0 is given up: long ago"),
        EventView("Warning", "RevisionGivenUp", because),
    )
    lines = plain(
        answer(structs.replace(view, events=told), world.cluster.now, "kubectl moonshift")
    )
    assert lines.count(because) == 1
    assert f"! RevisionGivenUp: {because}; {HELD}" in " ".join(lines.split("\n"))
    assert COMMAND in lines
    assert "long ago" not in problems_of(structs.replace(view, events=told))[0]


def test_it_is_told_when_its_event_is_gone() -> None:
    world = given_up_and_good_now()
    (problem,) = problems_of(view_of(world))
    assert problem.startswith("RevisionGivenUp: ")
    assert problem.endswith(f"was given up and rolled back; {HELD}")


def test_get_and_status_say_it() -> None:
    world = given_up_and_good_now()
    view = view_of(world)
    assert view.given_up in plain(rollout_tree(view, world.cluster.now, "kubectl moonshift"))
    found = progress_of(world.cluster.rollouts[KEY], None)
    assert found.text.endswith(f"the new version was given up: {HELD}")


def _v3(world: World) -> None:
    release(world, "v3")
    world.rest()


def _v3_done(world: World) -> None:
    _v3(world)
    promote(world)
    world.rest()


def _v3_undone(world: World) -> None:
    _v3(world)
    undo(world)
    world.rest()


def _retried(world: World) -> None:
    retry(world)
    world.rest()


def _held(world: World) -> None:
    release(world)
    world.rest()


@pytest.mark.parametrize("since", [_v3, _v3_done, _v3_undone, _retried, _held])
def test_nothing_is_told_once_something_else_happened(since: object) -> None:
    """If the version is applied again and held, the stall itself says so."""
    world = given_up_and_good_now()
    assert callable(since)
    since(world)
    view = view_of(world)
    assert view.given_up == ""
    assert not any(problem.startswith("RevisionGivenUp") for problem in problems_of(view))
    assert "given up: " not in progress_of(world.cluster.rollouts[KEY], None).text


def test_a_rollback_by_a_person_gives_nothing_up() -> None:
    world = with_pods_that_fail()
    undo(world)
    wait(world, 60)
    view = view_of(world)
    assert moonshift_status(status_of(world)).failed_template == ""
    assert view.given_up == ""
    assert COMMAND not in {remedy.command for remedy in remedies(view, "kubectl moonshift")}
