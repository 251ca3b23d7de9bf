"""A release that does not go on, and the acts that the offered commands stand for.

Invariant: an act changes what the command would change, and nothing else.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec
from msgspec import structs

from controller.api.rollout import RolloutSpec, RolloutStatus
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.status import with_moonshift_status
from tests.unit.builders import KEY, make_service, release, status_of, wait
from tests.unit.domain.rollout.scenes import approve
from tests.unit.worlds import World

Act = Callable[[World], None]


class Situation(NamedTuple):
    """The reason why a release does not go on, the way into it, and what the commands do that it offers."""

    reason: str
    begin: Callable[[], World]
    acts: Mapping[str, Act]
    lasts: Callable[[World], bool] | None = None
    """Whether it is still there; None where that is so while the Rollout is Stalled with this reason."""
    no_way_back: bool = False
    """`why` finds that no object keeps the template of the old version."""


def undo(world: World) -> None:
    """`moonshift undo`: the stable template, from the object or the status that keeps it."""
    ours = moonshift_status(status_of(world))
    kept = [
        rs.spec.template for rs in world.cluster.replica_sets if rs.revision == ours.stable_revision
    ]
    text = ours.kept_template.encode()
    world.people.edit(KEY, template=kept[-1] if kept else msgspec.Raw(text))


def promote(world: World) -> None:
    """`moonshift promote`."""
    for _ in range(3):
        approve(world)


def retry(world: World) -> None:
    """`moonshift retry`: the controller forgets that the template was given up, and the gates measure again."""
    rollout = world.cluster.rollouts[KEY]
    status: RolloutStatus = with_moonshift_status(
        rollout.status, failed_template="", analyses=(), checks=()
    )
    world.cluster.rollouts.put(structs.replace(rollout, status=status))


def rollout_edited(edit: Callable[[RolloutSpec], RolloutSpec]) -> Act:
    """`kubectl edit rollout web`."""

    def change(world: World) -> None:
        world.people.change(KEY, edit)

    return change


def owners_manifest_applied(world: World) -> None:
    """`kubectl apply -f FILE`: the manifest of the workload as it was."""
    release(world, "v1")


def the_template_so_far_applied_and_promoted(world: World) -> None:
    """The release goes on, and `why` offers its next command."""
    release(world, "v2")
    wait(world, 30)
    promote(world)


def service_applied(world: World) -> None:
    """`kubectl apply -f FILE`: the manifest of the Service."""
    world.people.apply_service(make_service("web"))


def with_selector(**selector: str) -> Act:
    """`kubectl edit service web`: the owner's own part of the selector."""

    def edit(world: World) -> None:
        service = world.cluster.services[KEY]
        pin = {k: v for k, v in service.spec.selector.items() if k.endswith("-hash")}
        spec = structs.replace(service.spec, selector={**pin, **selector})
        world.cluster.services.put(structs.replace(service, spec=spec))

    return edit
