"""New pods that are not created, or are created and do not become ready."""

from localcluster.api import JsonObject
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE
from tests.cluster.story import conclude
from tests.trouble import forms
from tests.trouble.forms import (
    ADVANCED_DAEMON,
    ADVANCED_STATEFUL,
    BLUE_GREEN,
    CANARY,
    CLONES,
    CLONES_DOUBLED,
    DAEMON,
    DEPLOYMENTS,
    FORMS,
    PACED,
    STATEFUL,
)
from tests.trouble.scene import Scene
from tests.trouble.table import Message, Row, Trouble
from tests.trouble.why import LOOK_AT_POD, UNDO, ours, theirs

NOT_READY = (
    "step(1) has taken more than <seconds> s: 0 of 1 new pods are ready; pod <pod>: container main: image shop:bad "
    "cannot be pulled: <why> (since <when>)"
)
FAILS = "step(1): of 1 new pods 0 ready; pod <pod>"
DEADLINE = 20
"""Seconds; on a busy machine, longer than it takes until a pod reports that its image cannot be pulled."""
BAD_IMAGE = "shop:bad"
"""No registry has it: its pods are created, and never become ready."""


async def never_becomes_ready(scene: Scene) -> None:
    """The step waits, and old pods and traffic stay as before. After `progressDeadlineSeconds` the
    Rollout is Stalled and names the pods and their problems."""
    await scene.install()
    await scene.govern(forms.rollout(scene.app, progressDeadlineSeconds=DEADLINE))
    await scene.release(BAD_IMAGE)
    await scene.stalled("ProgressDeadlineExceeded")
    await scene.is_explained()
    await scene.moment()
    await scene.goes_back()
    await conclude(scene)


async def is_taken_back_by_itself(scene: Scene) -> None:
    """With `onDeadlineExceeded: Rollback` the old template is restored. If the same new template is applied again, it
    is held until somebody runs `retry`.
    """
    await scene.install()
    body = forms.rollout(scene.app, progressDeadlineSeconds=DEADLINE, onDeadlineExceeded="Rollback")
    await scene.govern(body)
    await scene.release(BAD_IMAGE)
    await scene.event("RevisionGivenUp")
    scene.expect_image(STABLE_IMAGE)
    await scene.moment()
    await scene.completed()
    await scene.release(BAD_IMAGE)
    await scene.stalled("RevisionFailed")
    await scene.is_explained()
    (style,) = body["spec"]["strategy"]
    await scene.amend({"spec": {"strategy": {style: {"progressDeadlineSeconds": 600}}}})
    await scene.does("kubectl moonshift retry shop")
    await scene.goes_on()
    await scene.release(STABLE_IMAGE)
    await conclude(scene)


async def meets_a_full_quota(scene: Scene) -> None:
    """No pod can be created. The old pods stay, nothing else changes, and the Rollout says since when pods are missing.
    Once there is room, the release continues by itself.
    """
    await scene.install()
    await scene.govern()
    await _quota(scene, len(scene.pods()))
    await scene.release(NEW_IMAGE)
    await scene.stalled()
    await scene.is_explained()
    await scene.moment()
    await scene.does("kubectl delete resourcequota/pods", user="admin")
    await scene.goes_on()
    await scene.reach(2)
    await scene.approve(2)
    await conclude(scene)


async def _quota(scene: Scene, pods: int) -> None:
    body: JsonObject = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "pods"},
        "spec": {"hard": {"pods": str(pods)}},
    }
    await scene.types("create", "-f", "-", body=body, user="admin")
    # The plane runs no controller of quotas; admission looks at the status.
    counted = {"status": {"hard": {"pods": str(pods)}, "used": {"pods": str(pods)}}}
    path = f"/api/v1/namespaces/{scene.app.namespace}/resourcequotas/pods/status"
    await scene.plane.client().patch(path, counted)


async def is_taken_back_while_the_quota_is_full(scene: Scene) -> None:
    """The release is taken back while no pod can be created: nothing has to be created for that."""
    await scene.install()
    await scene.govern()
    await _quota(scene, len(scene.pods()))
    await scene.release(NEW_IMAGE)
    await scene.stalled()
    await scene.is_explained()
    await scene.moment()
    await scene.goes_back()
    await conclude(scene)


async def meets_a_lowered_quota(scene: Scene) -> None:
    """The quota is lower than the number of pods, so a deleted old pod is not replaced. Nothing else changes, and the
    Rollout says since when pods are missing. Once there is room, the release continues by itself.
    """
    await scene.install()
    await scene.govern()
    await _quota(scene, len(scene.pods()) - 1)
    await scene.release(NEW_IMAGE)
    await scene.stalled()
    await scene.is_explained()
    await scene.moment()
    await scene.does("kubectl delete resourcequota/pods", user="admin")
    await scene.goes_on()
    await scene.reach(2)
    await scene.approve(2)
    await conclude(scene)


async def crashes_again_and_again(scene: Scene) -> None:
    """The container of the new pods ends soon after each start. The step waits, and old pods and traffic stay as
    before; after a minute the Rollout is Stalled, with or without a deadline.
    """
    await _fails(scene, "shop:crashing")


async def is_placed_on_no_node(scene: Scene) -> None:
    """The new pods ask for more than any node has. The step waits, and old pods and traffic stay as before;
    after a minute the Rollout is Stalled, with or without a deadline."""
    await _fails(scene, NEW_IMAGE, resources={"requests": {"cpu": "20k"}})


async def fails_its_probe(scene: Scene) -> None:
    """The new pods run and are not ready. The step waits, and old pods and traffic stay as before; after a
    minute the Rollout is Stalled, with or without a deadline."""
    await _fails(scene, "shop:unready")


async def _fails(scene: Scene, image: str, **container: JsonObject) -> None:
    await scene.install()
    await scene.govern()
    await scene.release(image, **container)
    await scene.stalled()
    await scene.is_explained()
    await scene.moment()
    await scene.goes_back()
    await conclude(scene)


TROUBLES = (
    Trouble(
        "image",
        "New pods do not start",
        (
            Row(
                never_becomes_ready,
                (Message("Stalled ProgressDeadlineExceeded", NOT_READY),),
                ("apply the old template, or one that works",),
                killed=(STATEFUL,),
                why=(LOOK_AT_POD, UNDO),
                played=FORMS,
                often=(PACED, STATEFUL),
            ),
        ),
    ),
    Trouble(
        "crash-loop",
        "New pods start and end again and again",
        (
            Row(
                crashes_again_and_again,
                (
                    Message(
                        "Stalled CrashLoopBackOff",
                        f"{FAILS}: container main ends with exit code 1 (Error) (since <when>)",
                    ),
                ),
                ("apply the old template, or one that works",),
                why=(
                    theirs("logs <pod> -c main --previous", "its output before it ended"),
                    UNDO,
                ),
                played=FORMS,
                often=(DAEMON,),
                killed=(CLONES_DOUBLED,),
            ),
        ),
    ),
    Trouble(
        "unschedulable",
        "No node takes the new pods",
        (
            Row(
                is_placed_on_no_node,
                (
                    Message(
                        "Stalled Unschedulable",
                        f"{FAILS}: <nodes> nodes are available: <why> (since <when>)",
                    ),
                ),
                ("apply the old template, or one that asks for less",),
                why=(LOOK_AT_POD, UNDO),
                played=FORMS,
                killed=(DAEMON,),
            ),
        ),
    ),
    Trouble(
        "probe",
        "New pods run and do not become ready",
        (
            Row(
                fails_its_probe,
                (
                    Message(
                        "Stalled ReadinessProbeFailing",
                        f"{FAILS}: it runs and is not ready; its readiness probe fails (<why>) (since <when>)",
                    ),
                ),
                ("apply the old template, or one that works",),
                why=(LOOK_AT_POD, UNDO),
                played=FORMS,
                killed=(ADVANCED_STATEFUL,),
            ),
        ),
    ),
    Trouble(
        "deadline-rollback",
        "New pods do not start, and `onDeadlineExceeded: Rollback` is set",
        (
            Row(
                is_taken_back_by_itself,
                (
                    Message(
                        "Event RevisionGivenUp",
                        f"shop:bad (<revision>) is given up: {NOT_READY}",
                    ),
                    Message(
                        "Stalled RevisionFailed",
                        "shop:bad (<revision>) was given up before and is held: change the template, or try it again "
                        "with kubectl moonshift retry shop",
                    ),
                ),
                ("kubectl moonshift retry shop",),
                why=(ours("retry", "try this version again"),),
                played=tuple(form for form in FORMS if form is not CANARY),
                killed=(PACED, ADVANCED_DAEMON),
                often=(BLUE_GREEN,),
            ),
            Row(
                is_taken_back_by_itself,
                (
                    Message(
                        "Event RevisionGivenUp", f"shop:bad (<revision>) is given up: {NOT_READY}"
                    ),
                    Message(
                        "Stalled RevisionFailed",
                        "shop:bad was given up before and is held: change the template, or try it again with "
                        "kubectl moonshift retry shop",
                    ),
                ),
                ("kubectl moonshift retry shop",),
                why=(ours("retry", "try this version again"),),
                played=(CANARY,),
            ),
        ),
    ),
    Trouble(
        "quota",
        "No pod can be made: the quota is full",
        (
            Row(
                meets_a_full_quota,
                (
                    Message(
                        "Stalled <reason>",
                        'step(1): of 1 new pods 0 made, 0 ready; pods "shop-<name>" is forbidden: exceeded quota: '
                        "pods, requested: pods=1, used: pods=4, limited: pods=4 (since <when>)",
                    ),
                ),
                ("raise the quota, or delete it:", "kubectl delete resourcequota/pods"),
                played=(*DEPLOYMENTS, CLONES_DOUBLED),
                killed=(BLUE_GREEN,),
            ),
            Row(
                is_taken_back_while_the_quota_is_full,
                (
                    Message(
                        "Stalled <reason>",
                        'step(1): of 1 new pods 0 made, 0 ready; pods "shop-<name>" is forbidden: exceeded quota: '
                        "pods, requested: pods=1, used: pods=4, limited: pods=4 (since <when>)",
                    ),
                ),
                ("kubectl moonshift undo shop",),
                why=(theirs("describe resourcequota", "used and allowed amounts"), UNDO),
                played=(CANARY, BLUE_GREEN),
            ),
            Row(
                meets_a_lowered_quota,
                (
                    Message(
                        "Stalled <reason>",
                        "step(1): of 1 new pods 0 made, 0 ready; <who> is forbidden: exceeded quota: "
                        "pods, requested: pods=1, used: pods=3, limited: pods=3<further details>",
                    ),
                ),
                ("raise the quota, or delete it:", "kubectl delete resourcequota/pods"),
                played=(STATEFUL, DAEMON, CLONES, ADVANCED_STATEFUL, ADVANCED_DAEMON),
                killed=(STATEFUL,),
            ),
        ),
    ),
)
