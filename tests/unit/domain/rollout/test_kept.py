"""What a release keeps is kept where only the controller writes: a forged status gets nothing into the workload."""

import msgspec
from msgspec import structs

from controller.api.jsontree import JsonObject
from controller.api.rollout import MoonshiftStatus, StepState
from tests.unit.builders import (
    KEY,
    make_deployment,
    make_rollout,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    template,
    wait,
    workload_of,
)
from tests.unit.domain.rollout.scenes import BOTH
from tests.unit.worlds import World

FORGED: JsonObject = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "hostPID": True,
        "serviceAccountName": "admin",
        "containers": [{"name": "web", "image": "evil", "securityContext": {"privileged": True}}],
    },
}


def forge(world: World, **fields: object) -> None:
    """A person who may patch `rollouts/status`, and nothing else, writes these fields into `status.moonshift`."""
    rollout = world.cluster.rollouts[KEY]
    ours: MoonshiftStatus = structs.replace(ours_of(world), **fields)
    status = structs.replace(rollout.status, moonshift=ours)
    world.cluster.rollouts.put(structs.replace(rollout, status=status))


def impatient(style: str) -> World:
    """A world at rest whose plan takes a step back that has taken a minute."""
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%"), style=style),
        progress_deadline_seconds=60,
        on_deadline_exceeded="Rollback",
    )
    return make_world(make_rollout(strategy=strategy), make_deployment())


def written(world: World) -> str:
    """The template of the workload, as text."""
    return bytes(workload_of(world).spec.template).decode()


@BOTH
def test_a_forged_template_is_never_written_into_the_workload(style: str) -> None:
    world = impatient(style)
    world.people.fail_pods(frozenset({world.cluster.revision_of(template("v2"))}))
    release(world)
    world.run_until(lambda: ours_of(world).state == StepState.STEP_UPGRADE)
    world.watchers.append(lambda: _never(world))
    forge(
        world,
        kept_template=msgspec.json.encode(FORGED).decode(),
        stable_revision="nowhere",
    )
    wait(world, 500)
    assert "privileged" not in written(world)


def _never(world: World) -> None:
    assert "privileged" not in written(world)
