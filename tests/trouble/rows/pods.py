"""New pods that do not come, old ones that are lost, and room that is missing for them."""

from localcluster.api import JsonObject
from tests.cluster.kinds import REPLICA_SETS
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE
from tests.cluster.story import conclude
from tests.cluster.view import image_of
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
    KRUISE,
    PACED,
    STATEFUL,
)
from tests.trouble.scene import Scene
from tests.trouble.table import Row, Said, Trouble

NOT_READY = (
    "step(1) has taken more than <seconds> s: 0 of 1 new pods are ready; pod <pod>: container main: image shop:bad "
    "cannot be pulled: <why> (since <when>)"
)
DEADLINE = 5
BAD_IMAGE = "shop:bad"
"""No registry has it: its pods are made, and never become ready."""


async def never_becomes_ready(scene: Scene) -> None:
    """The step waits with as many old pods and as much traffic as before. After `progressDeadlineSeconds` the
    Rollout is Stalled and names the pods and what is wrong with them."""
    await scene.install()
    await scene.govern(forms.rollout(scene.app, progressDeadlineSeconds=DEADLINE))
    await scene.release(BAD_IMAGE)
    await scene.stalled("ProgressDeadlineExceeded")
    await scene.moment()
    await scene.release(STABLE_IMAGE)
    await conclude(scene)


async def is_taken_back_by_itself(scene: Scene) -> None:
    """With `onDeadlineExceeded: Rollback` the old template is written back. Applied again, the same template
    is held until somebody says `retry`."""
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
    (style,) = body["spec"]["strategy"]
    await scene.amend({"spec": {"strategy": {style: {"progressDeadlineSeconds": 600}}}})
    await scene.does("kubectl moonshift retry shop")
    await scene.goes_on()
    await scene.release(STABLE_IMAGE)
    await conclude(scene)


async def meets_a_full_quota(scene: Scene) -> None:
    """No pod may be made. The old ones stay, nothing else moves, and the Rollout says since when; once there is
    room, the release goes on by itself."""
    await scene.install()
    await scene.govern()
    await _quota(scene, len(scene.pods()))
    await scene.release(NEW_IMAGE)
    await scene.stalled()
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


async def loses_the_replica_set_of_its_old_pods(scene: Scene) -> None:
    """Somebody deletes the ReplicaSet of the old pods, and the pods with it; the Deployment fills up with new ones. The
    release stops, says what runs, and what to type."""
    await scene.begin()
    await scene.reach(2)
    for rule in ("enough_pods_are_ready", "blue_green_keeps_every_old_pod"):
        scene.excused[rule] = "the test deleted them"
    scene.excused["new_pods_find_the_stable_service_pinned"] = "there is no stable pod to lead to"
    scene.excused["new_pods_stay_within_the_approved_step"] = "its own controller made them"
    scene.excused["traffic_stays_within_the_approved_step"] = "nobody else answers"
    await scene.types("delete", "replicaset", _stable_replica_set(scene))
    await scene.moment()
    await scene.stalled("StableRevisionGone")
    await scene.does("kubectl moonshift promote shop")
    scene.expect_image(NEW_IMAGE)
    await conclude(scene)


def _stable_replica_set(scene: Scene) -> str:
    return next(
        key.name
        for key, obj in scene.recorder.state().items()
        if key.kind == REPLICA_SETS
        and key.namespace == scene.app.namespace
        and obj["spec"]["template"]["spec"]["containers"][0]["image"] == STABLE_IMAGE
    )


async def loses_the_replica_set_beside_its_canary(scene: Scene) -> None:
    """The Deployment is paused to the end, so nobody makes the old pods again. All requests go to the new revision,
    and approvals bring the release to its end."""
    await scene.begin()
    await scene.reach(2)
    for rule in ("enough_pods_are_ready", "traffic_stays_within_the_approved_step"):
        scene.excused[rule] = "the test deleted the old pods"
    scene.excused["new_pods_find_the_stable_service_pinned"] = "there is no stable pod to lead to"
    await scene.types("delete", "replicaset", _stable_replica_set(scene))
    await scene.moment()
    await scene.stalled("SideWithoutEndpoints")
    await scene.does("kubectl moonshift why shop")
    await scene.approve(2)
    await conclude(scene)


REVISIONS = "/apis/apps/v1/namespaces/{}/controllerrevisions"


async def loses_the_revision_of_its_old_pods(scene: Scene) -> None:
    """Somebody deletes the ControllerRevision of the old template. The old pods stay; `undo` says that it finds
    nothing to go back to, and the old manifest, applied again, is the way back."""
    await scene.begin()
    await scene.reach(2)
    found = (await scene.client.get(REVISIONS.format(scene.app.namespace)))["items"]
    theirs = [r for r in found if r["metadata"].get("ownerReferences")]
    oldest = min(theirs, key=lambda revision: int(revision["revision"]))
    await scene.types("delete", "controllerrevision", oldest["metadata"]["name"])
    await scene.moment()
    await scene.does("kubectl moonshift undo shop", fails=True)
    await scene.release(STABLE_IMAGE)
    await conclude(scene)


async def may_not_hold_its_autoscaler(scene: Scene) -> None:
    """The right to patch autoscalers is missing, so old and new pods side by side would be scaled. The release stops
    before its first new pod and goes on when the right is there."""
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kruise-rollout-manager-role"
    admin = scene.plane.client()
    role = await admin.get(path)
    less = [rule for rule in role["rules"] if "autoscaling" not in rule["apiGroups"]]
    await admin.patch(path, {"rules": less})
    try:
        await scene.begin()
        await scene.stalled()
        assert NEW_IMAGE not in map(image_of, scene.pods())
        await scene.moment()
    finally:
        await admin.patch(path, {"rules": role["rules"]})
    await scene.goes_on()
    await scene.reach(2)
    await scene.approve(2)
    await conclude(scene)


TROUBLES = (
    Trouble(
        "image",
        "New pods do not start",
        (
            Row(
                never_becomes_ready,
                (Said("Stalled ProgressDeadlineExceeded", NOT_READY),),
                ("apply the old template, or one that works",),
                killed=(STATEFUL,),
                played=FORMS,
                often=(PACED, STATEFUL),
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
                    Said(
                        "Event RevisionGivenUp",
                        f"shop:bad (<revision>) is given up: {NOT_READY}",
                    ),
                    Said(
                        "Stalled RevisionFailed",
                        "shop:bad (<revision>) was given up before and is held: change the template, or try it again "
                        "with kubectl moonshift retry shop",
                    ),
                ),
                ("kubectl moonshift retry shop",),
                played=(PACED, BLUE_GREEN, STATEFUL),
                often=(BLUE_GREEN,),
                derived={
                    (
                        DAEMON,
                        *KRUISE,
                    ): "the old template is written back in the same way for every kind"
                },
            ),
            Row(
                is_taken_back_by_itself,
                (
                    Said(
                        "Event RevisionGivenUp", f"shop:bad (<revision>) is given up: {NOT_READY}"
                    ),
                    Said(
                        "Stalled RevisionFailed",
                        "shop:bad was given up before and is held: change the template, or try it again with "
                        "kubectl moonshift retry shop",
                    ),
                ),
                ("kubectl moonshift retry shop",),
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
                    Said(
                        "Stalled <reason>",
                        'step(1): of 1 new pods 0 made, 0 ready; pods "shop-<name>" is forbidden: exceeded quota: '
                        "pods, requested: pods=1, used: pods=4, limited: pods=4 (since <when>)",
                    ),
                ),
                ("kubectl delete resourcequota/pods",),
                played=(*DEPLOYMENTS, CLONES_DOUBLED),
            ),
        ),
        except_for={
            (
                STATEFUL,
                DAEMON,
                CLONES,
                ADVANCED_STATEFUL,
                ADVANCED_DAEMON,
            ): "an old pod goes before its successor comes, so a full quota has room for it"
        },
    ),
    Trouble(
        "stable-set-gone",
        "The ReplicaSet of the old pods is deleted mid-release",
        (
            Row(
                loses_the_replica_set_of_its_old_pods,
                (
                    Said(
                        "Stalled StableRevisionGone",
                        "Deployment <namespace>/shop has no pod of the stable version any more: its ReplicaSet "
                        f"<name> was deleted; what runs is {NEW_IMAGE} (<revision>). Its template is kept nowhere in "
                        f"the cluster: to go back, apply the manifest of {STABLE_IMAGE} (<revision>), or end the "
                        "release with what runs: kubectl moonshift promote shop; besides: <what else is said>",
                    ),
                ),
                ("kubectl moonshift promote shop",),
                played=(PACED, BLUE_GREEN),
            ),
            Row(
                loses_the_replica_set_beside_its_canary,
                (
                    Said(
                        "Stalled SideWithoutEndpoints",
                        "no pod of the stable revision is ready behind Service <namespace>/shop since <when>: all "
                        "requests go to the new revision until one has been ready for 1 s",
                    ),
                ),
                ("kubectl moonshift why shop",),
                played=(CANARY,),
            ),
        ),
        except_for={
            (STATEFUL, DAEMON, *KRUISE): "its pods belong to no ReplicaSet",
        },
    ),
    Trouble(
        "stable-revision-gone",
        "The ControllerRevision of the old pods is deleted mid-release",
        (
            Row(
                loses_the_revision_of_its_old_pods,
                (
                    Said(
                        "printed",
                        "error: the ControllerRevision of revision <revision> of <Kind> <namespace>/shop is gone: "
                        "apply the manifest you want <way>",
                    ),
                ),
                ("apply the manifest you want",),
                played=(STATEFUL, DAEMON, *KRUISE),
            ),
        ),
        except_for={DEPLOYMENTS: "its pods belong to ReplicaSets"},
    ),
    Trouble(
        "autoscaler-right",
        "The controller may not patch autoscalers",
        (
            Row(
                may_not_hold_its_autoscaler,
                (
                    Said(
                        "Stalled Forbidden",
                        'horizontalpodautoscalers.autoscaling "shop" is forbidden: User "<account>" cannot patch '
                        'resource "horizontalpodautoscalers" in API group "autoscaling" in the namespace '
                        '"<namespace>"; grant patch on horizontalpodautoscalers.autoscaling to <whom>',
                    ),
                ),
                ("give the right back: `kubectl apply -k deploy/kustomize`",),
                played=(BLUE_GREEN,),
                derived={
                    (CLONES_DOUBLED,): "autoscalers are held by the same means for both kinds"
                },
                alone=True,
            ),
        ),
        except_for={
            (
                PACED,
                CANARY,
                STATEFUL,
                DAEMON,
                CLONES,
                ADVANCED_STATEFUL,
                ADVANCED_DAEMON,
            ): "autoscalers are held in blue-green style only"
        },
    ),
)
