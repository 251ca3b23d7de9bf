"""Approvals at the wrong moment, and a long wait for a person that must not count as a missed deadline."""

import asyncio

from localcluster.history import Change
from tests.cluster import manifests
from tests.cluster.kinds import ROLLOUTS, path_of
from tests.cluster.manifests import NEW_IMAGE
from tests.cluster.status_fields import at, condition, step_of, sub_status
from tests.cluster.story import conclude
from tests.trouble import forms
from tests.trouble.forms import BLUE_GREEN, CANARY, CLONES, DAEMON, FORMS, PACED
from tests.trouble.scene import Scene
from tests.trouble.table import Message, Row, Trouble
from tests.trouble.why import APPROVE, UNDO, theirs

ROUTE_GONE = "VirtualService <namespace>/shop does not exist: create it again, or go back (kubectl moonshift undo)"
RESET = f"an approval was reset: the release is stalled by GatewayObjectNotFound: {ROUTE_GONE}"
DEADLINE = 25
"""Seconds; longer than a step or the end of a release on a busy machine."""
RETRY_SECONDS = 0.5
"""How often `kubectl-kruise rollout approve` looks and writes."""


async def is_approved_by_a_writer_that_repeats_itself(scene: Scene) -> None:
    """A client writes StepReady every half second until it sees that the step is over. All these writes approve
    one step, even if the next step begins to wait between two reads of the client."""
    await scene.begin()
    await scene.paused_at(1)
    await scene.approve(1)
    writer = asyncio.create_task(_approves_until_it_sees_it(scene))
    await scene.moment()
    await scene.paused_at(2)
    await writer
    await scene.never(4.0, _leaves_step_2)
    await scene.approve(2)
    await conclude(scene)


async def _approves_until_it_sees_it(scene: Scene) -> None:
    part = "blueGreenStatus" if scene.app.blue_green else "canaryStatus"
    path = path_of(scene.key(ROLLOUTS))
    approver = scene.plane.client("approver")
    while True:
        await asyncio.sleep(RETRY_SECONDS)  # the test is about a client that does this
        status = (await approver.get(path))["status"]
        if sub_status(status).get("currentStepState") != "StepPaused" or step_of(status) == 2:
            return
        await approver.patch(
            f"{path}/status", {"status": {part: {"currentStepState": "StepReady"}}}
        )


def _leaves_step_2(change: Change) -> bool:
    status = change.object.get("status") or {}
    return change.key.kind == ROLLOUTS and not (
        at(status, 2, "StepPaused") or at(status, 2, "StepReady")
    )


async def is_approved_while_it_is_stalled(scene: Scene) -> None:
    """An approval does not count while the release is Stalled: it is reset, and the Event names the problem."""
    await scene.begin()
    await scene.paused_at(1)
    await scene.does("kubectl delete virtualservice/shop")
    await scene.stalled()
    await scene.approve(1)
    await scene.moment()
    await scene.event("ApprovalIgnored")
    await scene.is_explained()
    route = manifests.virtual_service(scene.app)
    await scene.follows("kubectl apply -f FILE", scene.create(route))
    await scene.goes_on()
    assert await scene.at_its_share() == 1
    await scene.approve(1)
    await scene.paused_at(2)
    await scene.approve(2)
    await conclude(scene)


async def is_taken_back_after_a_long_wait(scene: Scene) -> None:
    """Waiting for people does not count against `progressDeadlineSeconds`. A step that waited for longer than the
    deadline is not Stalled, and its rollback is not Stalled either; after it, `status` ends with exit code 3."""
    await scene.install()
    await scene.govern(forms.rollout(scene.app, progressDeadlineSeconds=DEADLINE))
    await scene.release(NEW_IMAGE)
    await scene.reach(2)
    await scene.never(DEADLINE + 1, lambda change: _is_stalled(scene, change))
    await scene.is_explained()
    await scene.goes_back()
    await scene.moment()
    await conclude(scene)
    assert not [change for change in scene.recorder.history() if _is_stalled(scene, change)]
    await scene.does("kubectl moonshift status shop --no-watch")


def _is_stalled(scene: Scene, change: Change) -> bool:
    found = condition(change.object.get("status") or {}, "Stalled")
    return change.key == scene.key(ROLLOUTS) and found.get("status") == "True"


TROUBLES = (
    Trouble(
        "approved-twice",
        "One client approves again and again",
        (
            Row(
                is_approved_by_a_writer_that_repeats_itself,
                (),
                ("nothing",),
                played=FORMS,
                killed=(BLUE_GREEN,),
                often=(CANARY,),
            ),
        ),
    ),
    Trouble(
        "approved-while-stalled",
        "A step is approved while the release is Stalled",
        (
            Row(
                is_approved_while_it_is_stalled,
                (
                    Message(
                        "Event ApprovalIgnored",
                        RESET,
                    ),
                ),
                ("remove the problem that the message names, then approve again",),
                why=(
                    f"is stalled by GatewayObjectNotFound: {ROUTE_GONE}",
                    f"! ApprovalIgnored: {RESET}",
                    theirs("apply -f FILE", "FILE: the manifest of VirtualService shop"),
                ),
                played=FORMS,
                killed=(CLONES,),
                often=(PACED,),
            ),
        ),
    ),
    Trouble(
        "waited-long",
        "A release is rolled back after a step has waited for longer than the deadline",
        (
            Row(
                is_taken_back_after_a_long_wait,
                (Message("exit code", "3"),),
                ("kubectl moonshift status shop --no-watch",),
                why=("waits for an approval", APPROVE, UNDO),
                played=FORMS,
                killed=(DAEMON,),
                often=(PACED,),
            ),
        ),
    ),
)
