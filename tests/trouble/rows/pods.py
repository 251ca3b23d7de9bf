"""Old pods and revisions that are lost, and autoscalers that cannot be held."""

from tests.cluster.kinds import REPLICA_SETS
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE
from tests.cluster.story import conclude
from tests.cluster.view import image_of
from tests.trouble.forms import (
    ADVANCED_DAEMON,
    ADVANCED_STATEFUL,
    BLUE_GREEN,
    CANARY,
    CLONES,
    CLONES_DOUBLED,
    DAEMON,
    DEPLOYMENTS,
    KRUISE,
    PACED,
    STATEFUL,
)
from tests.trouble.scene import Scene
from tests.trouble.table import Message, Row, Trouble
from tests.trouble.why import UNDO, ours, theirs


async def loses_the_replica_set_of_its_old_pods(scene: Scene) -> None:
    """Somebody deletes the ReplicaSet of the old pods, and the pods with it; the Deployment creates new ones instead.
    The release stops, names the running version, and says what to type: here the old version is restored, from the
    template that the release has kept.
    """
    await _loses_its_old_pods(scene)
    await scene.is_explained()
    since = scene.newest()
    await scene.does("kubectl moonshift undo shop")
    scene.expect_image(STABLE_IMAGE, since)
    scene.excused["pods_stay_within_the_surge"] = (
        "every pod is new: two thirds of the old ones come back before a request leaves the new ones"
    )
    await conclude(scene)


async def loses_the_replica_set_of_its_old_pods_for_good(scene: Scene) -> None:
    """Somebody deletes the ReplicaSet of the old pods, and the pods with it; the Deployment creates new ones instead.
    The release stops, names the running version, and says what to type: here the release ends with the new version.
    """
    await _loses_its_old_pods(scene)
    await scene.is_explained()
    since = scene.newest()
    await scene.does("kubectl moonshift promote shop")
    scene.was_approved(since)
    await conclude(scene)


async def _loses_its_old_pods(scene: Scene) -> None:
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


def _stable_replica_set(scene: Scene) -> str:
    return next(
        key.name
        for key, obj in scene.recorder.state().items()
        if key.kind == REPLICA_SETS
        and key.namespace == scene.app.namespace
        and obj["spec"]["template"]["spec"]["containers"][0]["image"] == STABLE_IMAGE
    )


async def loses_the_replica_set_beside_its_canary(scene: Scene) -> None:
    """The Deployment is paused until the end, so the old pods are not created again. All requests go to the new
    revision, and approvals bring the release to its end.
    """
    await scene.begin()
    await scene.reach(2)
    for rule in ("enough_pods_are_ready", "traffic_stays_within_the_approved_step"):
        scene.excused[rule] = "the test deleted the old pods"
    scene.excused["new_pods_find_the_stable_service_pinned"] = "there is no stable pod to lead to"
    await scene.types("delete", "replicaset", _stable_replica_set(scene))
    await scene.moment()
    await scene.stalled("SideWithoutEndpoints")
    await scene.is_explained()
    await scene.does("kubectl moonshift why shop")
    await scene.approve(2)
    await conclude(scene)


REVISIONS = "/apis/apps/v1/namespaces/{}/controllerrevisions"


async def loses_the_revision_of_its_old_pods(scene: Scene) -> None:
    """Somebody deletes the ControllerRevision of the old template. The old pods stay. `undo` says that it finds no
    template to go back to: apply the old manifest instead.
    """
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
    """The right to patch autoscalers is missing, so autoscalers would count old and new pods together. The release
    stops before its first new pod and continues when the right is granted.
    """
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kruise-rollout-manager-role"
    admin = scene.plane.client()
    role = await admin.get(path)
    less = [
        rule | {"verbs": [verb for verb in rule["verbs"] if verb != "patch"]}
        if "autoscaling" in rule["apiGroups"]
        else rule
        for rule in role["rules"]
    ]
    await admin.patch(path, {"rules": less})
    try:
        await scene.begin()
        await scene.stalled()
        assert NEW_IMAGE not in map(image_of, scene.pods())
        await scene.is_explained()
        await scene.moment()
    finally:
        await admin.patch(path, {"rules": role["rules"]})
    await scene.goes_on()
    await scene.reach(2)
    await scene.approve(2)
    await conclude(scene)


STABLE_SET_GONE = Message(
    "Stalled StableRevisionGone",
    f"Deployment <namespace>/shop has no pod of the stable version any more: its ReplicaSet <name> was deleted; the "
    f"running version is {NEW_IMAGE} (<revision>). Go back with kubectl moonshift undo shop, or end the release with "
    "the running version: kubectl moonshift promote shop; besides: <further details>",
)
TROUBLES = (
    Trouble(
        "stable-set-gone",
        "The ReplicaSet of the old pods is deleted during a release",
        (
            Row(
                loses_the_replica_set_of_its_old_pods,
                (STABLE_SET_GONE,),
                ("kubectl moonshift undo shop",),
                why=(UNDO, ours("promote", "or end the release with the running version")),
                played=(PACED,),
            ),
            Row(
                loses_the_replica_set_of_its_old_pods_for_good,
                (STABLE_SET_GONE,),
                ("kubectl moonshift promote shop",),
                why=(UNDO, ours("promote", "or end the release with the running version")),
                played=(BLUE_GREEN,),
            ),
            Row(
                loses_the_replica_set_beside_its_canary,
                (
                    Message(
                        "Stalled SideWithoutEndpoints",
                        "no pod of the stable revision is ready behind Service <namespace>/shop since <when>: all "
                        "requests go to the new revision until one has been ready for 1 s",
                    ),
                ),
                ("kubectl moonshift why shop",),
                why=(ours("approve", "go on without it"), UNDO),
                played=(CANARY,),
            ),
        ),
        except_for={
            (STATEFUL, DAEMON, *KRUISE): "their pods belong to no ReplicaSet",
        },
    ),
    Trouble(
        "stable-revision-gone",
        "The ControllerRevision of the old pods is deleted during a release",
        (
            Row(
                loses_the_revision_of_its_old_pods,
                (
                    Message(
                        "printed",
                        "error: the ControllerRevision of revision <revision> of <Kind> <namespace>/shop is gone: "
                        "apply the manifest of <version>",
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
                    Message(
                        "Stalled Forbidden",
                        'horizontalpodautoscalers.autoscaling "shop" is forbidden: User "<account>" cannot patch '
                        'resource "horizontalpodautoscalers" in API group "autoscaling" in the namespace '
                        '"<namespace>"; grant patch on horizontalpodautoscalers.autoscaling to <whom>',
                    ),
                ),
                ("grant the right again: `kubectl apply -k deploy/kustomize`",),
                why=(
                    "kubectl apply -k deploy/kustomize  # the missing right, from Moonshift's repository",
                    theirs(
                        "auth can-i patch horizontalpodautoscalers.autoscaling --as <account>",
                        "whether the controller has it",
                    ),
                ),
                played=(BLUE_GREEN, CLONES_DOUBLED),
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
