"""A canary Service that somebody deletes while a step needs it."""

from controller.api.meta import Key
from controller.domain import reasons
from tests.unit.builders import NAMESPACE, make_service, release, revision_of, wait, weight_of
from tests.unit.domain.rollout.scenes import BOTH, pin_of, started
from tests.unit.worlds import World


def said(world: World) -> list[str]:
    """The Events about canary Services."""
    notes = world.passes.notes
    return [note.message for note in notes if note.reason == reasons.CANARY_SERVICE_REMADE]


@BOTH
def test_a_deleted_canary_service_is_made_again_with_one_event(style: str) -> None:
    world = started(style, watched=False)
    assert said(world) == []
    world.cluster.services.remove(Key(NAMESPACE, "web-canary"))
    world.rest()
    wait(world, 60)
    assert pin_of(world, "web-canary") == revision_of(world, "v2")
    assert weight_of(world) == 20
    (text,) = said(world)
    assert text.startswith("Service web-canary: it was deleted")


@BOTH
def test_a_release_that_makes_corrects_and_removes_its_canary_service_says_nothing(
    style: str,
) -> None:
    world = started(style, watched=False)
    world.people.apply_service(make_service())
    wait(world, 30)
    release(world, "v3")
    world.rest()
    release(world, "v1")
    world.rest()
    assert pin_of(world, "web-canary") == "gone"
    assert said(world) == []
