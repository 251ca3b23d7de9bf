"""Old pods and revisions that are lost, and autoscalers that cannot be held."""

from tests.cluster.kinds import PODS, REPLICA_SETS, ROLLOUTS, path_of
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, THIRD_IMAGE
from tests.cluster.status_fields import at, condition
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
    FORMS,
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
    await scene.approves()
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


NEVER_READY = "sim.moonshift.dev/never-ready"


async def gets_another_template_while_its_new_pods_serve_alone(scene: Scene) -> None:
    """No old pod is ready, so the new pods get all requests, and then a third template comes. A release of it would
    begin with the removal of the only ready pods: nothing is removed. With the template of the release so far, the
    release goes on where it was; with a ready old pod, the release of the third template begins.
    """
    await scene.begin()
    await scene.reach(2)
    await scene.at_its_share()
    for rule in (
        "enough_pods_are_ready",
        "blue_green_keeps_every_old_pod",
        "routes_lead_to_ready_pods",
    ):
        scene.excused[rule] = "the test makes the old pods unready"
    scene.excused["traffic_stays_within_the_approved_step"] = "nobody else answers"
    scene.excused["new_pods_find_the_stable_service_pinned"] = "no stable pod answers meanwhile"
    await _old_pods_are_ready(scene, ready=False)
    await scene.stalled("SideWithoutEndpoints")
    await scene.release(THIRD_IMAGE)
    await scene.eventually(lambda _: _would_leave_nobody(scene), "nobody would serve")
    await scene.is_explained()
    await scene.moment()
    await scene.follows("kubectl apply -f FILE", scene.release(NEW_IMAGE))
    # The approval of step 1 still counts: the release goes on where it was.
    scene.was_approved(scene.actions[-1].revision)
    await scene.eventually(lambda _: not _would_leave_nobody(scene), "the release so far goes on")
    await _old_pods_are_ready(scene, ready=True)
    await scene.goes_on()
    await scene.at_its_share()
    await scene.gets_its_traffic()
    await scene.approve(2)
    await conclude(scene)


def _would_leave_nobody(scene: Scene) -> bool:
    status = scene.recorder.state()[scene.key(ROLLOUTS)].get("status") or {}
    return "nobody would serve: " in str(condition(status, "Stalled").get("message"))


async def _old_pods_are_ready(scene: Scene, *, ready: bool) -> None:
    mark = {"metadata": {"annotations": {NEVER_READY: None if ready else "true"}}}
    for pod in scene.pods():
        if image_of(pod) == STABLE_IMAGE:
            await scene.client.patch(path_of(scene.key(PODS, pod["metadata"]["name"])), mark)


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
        granted = admin.patch(path, {"rules": role["rules"]})
        await scene.follows("kubectl apply -k deploy/kustomize", granted)
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
        "serving-alone",
        "A third template is applied while no old pod is ready",
        (
            Row(
                gets_another_template_while_its_new_pods_serve_alone,
                (
                    Message(
                        "Stalled SideWithoutEndpoints",
                        "<the empty side>; besides: nobody would serve: the 2 ready pods of the release so far would "
                        "be removed for the new template. Make stable pods ready, or put the template of the release "
                        "so far back (it goes on where it was)",
                    ),
                ),
                ("apply the template of the release so far, or make old pods ready",),
                why=(
                    theirs(
                        "apply -f FILE",
                        "FILE: the manifest of deployment/shop with the template of the release so far",
                    ),
                ),
                played=FORMS,
            ),
        ),
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
