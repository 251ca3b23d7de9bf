"""Old pods and revisions that are lost, and autoscalers that cannot be held."""

from tests.cluster.kinds import REPLICA_SETS, ROLLOUTS
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE
from tests.cluster.status_fields import at
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
    Moonshift makes the ReplicaSet again at once, from the template that the release keeps: old pods first, then the
    traffic, then the new pods go, and the release begins again at step 1.
    """
    rebuilt = await _loses_its_old_pods(scene)
    await scene.until(
        ROLLOUTS, lambda found: at(found.get("status") or {}, 1, "StepPaused"), after=rebuilt
    )
    await scene.at_its_share()
    await scene.is_explained()
    await scene.approve(1)
    await scene.paused_at(2)
    await scene.approve(2)
    await conclude(scene)


async def gets_its_old_pods_back_beside_the_new_ones(scene: Scene) -> None:
    """Somebody deletes the ReplicaSet of the old pods, and the pods with it. Moonshift makes the ReplicaSet again at
    once, from the template that the release keeps. Until an old pod is ready, the new ones serve; the step stays.
    """
    await _loses_its_old_pods(scene)
    await scene.at_its_share()
    await scene.gets_its_traffic()
    await scene.approve(2)
    await conclude(scene)


async def _loses_its_old_pods(scene: Scene) -> int:
    """The revision at which its ReplicaSet is made again."""
    await scene.begin()
    await scene.reach(2)
    for rule in ("enough_pods_are_ready", "blue_green_keeps_every_old_pod"):
        scene.excused[rule] = "the test deleted them"
    scene.excused["new_pods_find_the_stable_service_pinned"] = "there is no stable pod to lead to"
    scene.excused["new_pods_stay_within_the_approved_step"] = "its own controller made them"
    scene.excused["traffic_stays_within_the_approved_step"] = "nobody else answers"
    for rule in ("StepsInOrder", "ShareNeverFalls"):
        scene.excused[rule] = "the release begins again, or its traffic returns to the old pods"
    scene.excused["pods_stay_within_the_surge"] = (
        "old pods are added before as many new ones are removed"
    )
    await scene.types("delete", "replicaset", _stable_replica_set(scene))
    await scene.moment()
    return int((await scene.event("StableRebuilt"))["metadata"]["resourceVersion"])


def _stable_replica_set(scene: Scene) -> str:
    return next(
        key.name
        for key, obj in scene.recorder.state().items()
        if key.kind == REPLICA_SETS
        and key.namespace == scene.app.namespace
        and obj["spec"]["template"]["spec"]["containers"][0]["image"] == STABLE_IMAGE
    )


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


REBUILT = Message(
    "Event StableRebuilt",
    "Deployment <namespace>/shop: the stable ReplicaSet was deleted; it is made again from the template that the "
    "release keeps",
)
TROUBLES = (
    Trouble(
        "stable-set-gone",
        "The ReplicaSet of the old pods is deleted during a release",
        (
            Row(
                loses_the_replica_set_of_its_old_pods,
                (REBUILT,),
                ("nothing: the steps are approved again, from the first on",),
                why=(ours("approve", "let the step go on"), UNDO),
                played=(PACED,),
            ),
            Row(
                gets_its_old_pods_back_beside_the_new_ones,
                (REBUILT,),
                ("nothing",),
                played=(BLUE_GREEN, CANARY),
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
