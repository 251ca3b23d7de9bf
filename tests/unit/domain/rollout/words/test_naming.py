"""Messages for people name the revision by words that they know: its images, and the object that keeps its template."""

import msgspec
import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import RolloutStatus
from controller.domain import reasons
from controller.domain.decision import Note
from controller.domain.rollout.phases import decide
from controller.domain.rollout.words.naming import new_in_words, stable_in_words
from controller.domain.rollout.words.release_value import Release, as_stored
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    SETS,
    make_rollout,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    release_set,
    revision_of,
    status_of,
    template,
    wait,
)
from tests.unit.domain.rollout.scenes import BOTH, reason_of, started
from tests.unit.worlds import World


def situation(world: World) -> Release:
    seen = world.observe(KEY)
    assert seen is not None
    return as_stored(seen, world.cluster.now)


def notes_of(world: World) -> list[Note]:
    """Every note of a pass from now on."""
    found: list[Note] = []
    passes = world.pass_over

    def pass_over(key: Key, **options: object) -> object:
        decision = passes(key, **options)  # type: ignore[arg-type] # handed on as they are
        found.extend(decision.notes if decision is not None else ())
        return decision

    world.pass_over = pass_over  # type: ignore[method-assign, assignment] # listens
    return found


def test_a_revision_is_its_images_and_its_replica_set() -> None:
    world = started()
    context = situation(world)
    new, old = revision_of(world, "v2"), revision_of(world, "v1")
    assert new_in_words(context) == f"img:v2 (ReplicaSet web-{new})"
    assert stable_in_words(context, old) == f"img:v1 (ReplicaSet web-{old})"
    assert stable_in_words(context, "") == ""
    assert stable_in_words(context, "gone") == "gone"


def test_a_revision_that_is_not_made_yet_is_its_images() -> None:
    world = make_world()
    release(world)
    assert new_in_words(situation(world)) == "img:v2"


def test_images_are_named_once_each_and_a_template_without_any_says_nothing() -> None:
    world = started()
    tree = msgspec.json.decode(template("v2"))
    tree["spec"]["containers"] += [{"image": "side:1"}, {"image": "side:1"}, {}]
    context = situation(world)
    spec = structs.replace(context.deployment.spec, template=msgspec.Raw(msgspec.json.encode(tree)))
    found = structs.replace(context.deployment, spec=spec)
    workload = structs.replace(context.workload, object=found, replica_sets=())
    seen = structs.replace(context.seen, workload=workload)
    assert new_in_words(structs.replace(context, seen=seen)) == "img:v2, side:1"


@pytest.mark.parametrize("which", sorted(SETS))
def test_a_revision_of_a_set_is_its_images_and_its_controller_revision(which: str) -> None:
    world = make_set_world(which)
    release_set(world)
    world.rest()
    words = new_in_words(situation(world))
    assert words == f"img:v2 (ControllerRevision web-{revision_of(world, 'v2')})"


@BOTH
def test_no_hash_of_ours_is_shown_to_people(style: str) -> None:
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%"), style=style),
        progress_deadline_seconds=30,
        on_deadline_exceeded="Rollback",
    )
    world = make_world(make_rollout(strategy=strategy))
    notes = notes_of(world)
    found: list[RolloutStatus] = []
    world.watchers.append(lambda: found.append(status_of(world)))
    world.people.fail_pods(frozenset({revision_of(world, "v2")}))
    release(world)
    wait(world, 120)
    assert ours_of(world).failed_template
    release(world, "v2")
    world.rest()
    assert reason_of(world, "Stalled") == reasons.REVISION_FAILED
    release(world, "v3")
    world.rest()
    release(world, "v1")
    world.rest()
    texts = [note.message for note in notes] + [status.message for status in found]
    texts += [c.message for status in found for c in status.conditions]
    hashes = [world.cluster.hash_of(template(version)) for version in ("v1", "v2", "v3")]
    assert not [text for text in texts if any(hashed in text for hashed in hashes)]
    by_reason = {note.reason: note.message for note in notes}
    assert by_reason[reasons.RELEASE_STARTED].startswith("release of img:v3")
    assert by_reason[reasons.GIVEN_UP].startswith("img:v2")


def test_a_service_that_selects_no_new_pod_is_reported_with_its_selector() -> None:
    world = make_world()
    service = world.cluster.services[Key(NAMESPACE, "web")]
    spec = structs.replace(service.spec, selector={"app": "other"})
    world.cluster.services.put(structs.replace(service, spec=spec))
    release(world)
    world.rest()
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", "ServiceSelectsNoPod")
    assert "its selector app=other matches none of the new pods" in stalled.message


def test_a_step_whose_pods_are_not_ready_says_nothing_of_selectors() -> None:
    world = make_world()
    world.people.fail_pods(frozenset({revision_of(world, "v2")}))
    release(world)
    wait(world, 10)
    seen = world.observe(KEY)
    assert seen is not None
    assert reason_of(world, "Stalled") == ""
    assert decide(seen, world.cluster.now).notes == ()
