"""Ends of a release that would leave something behind: pods of a given-up version, or a Service without a pod."""

from localcluster.api import JsonObject
from tests.cluster import manifests
from tests.cluster.kinds import SERVICES, path_of
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE
from tests.cluster.story import conclude
from tests.trouble.forms import (
    ADVANCED_DAEMON,
    ADVANCED_STATEFUL,
    BLUE_GREEN,
    CANARY,
    CLONES,
    CLONES_DOUBLED,
    DAEMON,
    DEPLOYMENTS,
    ON_NODES,
    PACED,
    SETS,
    STATEFUL,
)
from tests.trouble.scene import Scene
from tests.trouble.table import Message, Row, Trouble
from tests.trouble.why import UNDO, theirs

PARTITION = {"rollingUpdate": {"partition": 3}}
STRATEGIES: dict[str, JsonObject] = {
    "StatefulSet": {"type": "RollingUpdate", **PARTITION},
    "DaemonSet": {"type": "OnDelete"},
    "CloneSet": {"partition": 3},
    "Advanced StatefulSet": PARTITION,
    "Advanced DaemonSet": PARTITION,
}
"""Update strategies with which an owner keeps three of four pods as they are, or every pod."""
LABEL = "version"
MISSES = "Service <namespace>/shop: its selector app=shop,version=base matches none of the new pods"
SAME = "Services and their selectors are the same for every kind of workload"


async def goes_back_under_its_owners_partition(scene: Scene) -> None:
    """The owner's update strategy has a `partition`, or is `OnDelete`: it keeps pods as they are. In a release it does
    not count, and in a rollback it would keep pods of the version that is taken back. So every pod of this version
    is replaced first; then the workload has its owner's update strategy again.
    """
    strategy = STRATEGIES[scene.form.workload]
    own = manifests.workload(scene.app, updateStrategy=strategy)
    await scene.create(own, manifests.service(scene.app), manifests.virtual_service(scene.app))
    await scene.pods_ready()
    await scene.govern()
    await scene.release(NEW_IMAGE)
    await scene.reach(2)
    await scene.does("kubectl moonshift undo shop")
    scene.expect_image(STABLE_IMAGE)
    await scene.moment()
    await conclude(scene)
    await scene.runs(old=scene.size, new=0)


async def _governed_with_a_label_in_the_selector(scene: Scene) -> None:
    made = manifests.objects(scene.app)
    service = next(body for body in made if body["kind"] == "Service")
    service["spec"]["selector"][LABEL] = "base"
    await scene.create(*made)
    await scene.pods_ready()
    await scene.govern()


async def _selected(scene: Scene, value: str | None, name: str = "") -> None:
    path = path_of(scene.key(SERVICES, name))
    await scene.client.patch(path, {"spec": {"selector": {LABEL: value}}})


async def _selects_all_pods(scene: Scene) -> None:
    await scene.follows("kubectl edit service shop", scene.does(WITHOUT_THE_LABEL))
    del scene.expected[scene.key(SERVICES)]["spec"]["selector"][LABEL]


WITHOUT_THE_LABEL = (
    'kubectl patch service/shop --type merge -p \'{"spec":{"selector":{"version":null}}}\''
)


async def has_a_service_that_selects_the_old_label(scene: Scene) -> None:
    """The Service selects a label whose value the new template changes, so it would lead to no new pod. No request is
    moved to the new pods, which stay few, until the Service selects them as well.
    """
    await _governed_with_a_label_in_the_selector(scene)
    await scene.release(NEW_IMAGE, {LABEL: "next"})
    await scene.stalled("ServiceSelectsNoPod")
    await scene.is_explained()
    await scene.moment()
    await _selects_all_pods(scene)
    await scene.goes_on()
    await scene.approve_all()
    await conclude(scene)


async def would_end_without_an_endpoint(scene: Scene) -> None:
    """Somebody has corrected the canary Service only, so the steps go on. At the end, the stable Service would select
    no pod at all: the old pods stay and serve, and the release does not end before the Service selects new pods.
    """
    await _governed_with_a_label_in_the_selector(scene)
    await scene.release(NEW_IMAGE, {LABEL: "next"})
    await scene.stalled("ServiceSelectsNoPod")
    await _selected(scene, "next", scene.app.canary_service)
    await scene.approve_all()
    await scene.rollout(_is_held_at_its_end)
    await scene.is_explained()
    await scene.moment()
    await _selects_all_pods(scene)
    await conclude(scene)


def _is_held_at_its_end(status: JsonObject) -> bool:
    found = {item["type"]: item for item in status.get("conditions") or ()}
    stalled, progressing = found.get("Stalled", {}), found.get("Progressing", {})
    held = (stalled.get("status"), stalled.get("reason")) == ("True", "ServiceSelectsNoPod")
    return held and progressing.get("reason") == "Finalising"


TROUBLES = (
    Trouble(
        "owners-partition",
        "A release is rolled back, and the owner's update strategy keeps pods as they are",
        (
            Row(
                goes_back_under_its_owners_partition,
                (
                    Message(
                        "Progressing Cancelling",
                        "The workload has been rolled back and the rollout process will be canceled",
                    ),
                ),
                ("kubectl moonshift undo shop",),
                played=(*SETS, *ON_NODES),
                killed=(STATEFUL,),
            ),
        ),
        except_for={
            DEPLOYMENTS: "a Deployment has neither a partition nor OnDelete",
            (CLONES_DOUBLED,): "its old pods are not replaced before the end",
        },
    ),
    Trouble(
        "label-in-selector",
        "The new template changes a label that the Service selects",
        (
            Row(
                has_a_service_that_selects_the_old_label,
                (
                    Message(
                        "Stalled ServiceSelectsNoPod",
                        f"{MISSES} (nor does its copy shop-canary); give the pod template these labels, or correct "
                        "the Service",
                    ),
                ),
                ("let the Service select both versions:", WITHOUT_THE_LABEL),
                why=(
                    theirs("edit service shop", "correct its selector"),
                    theirs("get pods --show-labels", "the labels that it can select by"),
                    UNDO,
                ),
                played=(PACED, CANARY, BLUE_GREEN, STATEFUL, CLONES),
                derived={(DAEMON, CLONES_DOUBLED, ADVANCED_STATEFUL, ADVANCED_DAEMON): SAME},
            ),
            Row(
                would_end_without_an_endpoint,
                (
                    Message(
                        "Stalled ServiceSelectsNoPod",
                        f"{MISSES}, and the end of the release would leave it without a ready pod: correct its "
                        "selector",
                    ),
                ),
                ("let the Service select the new pods:", WITHOUT_THE_LABEL),
                why=(theirs("edit service shop", "correct its selector"),),
                played=(CANARY, PACED, STATEFUL),
                derived={
                    (
                        BLUE_GREEN,
                        DAEMON,
                        CLONES,
                        CLONES_DOUBLED,
                        ADVANCED_STATEFUL,
                        ADVANCED_DAEMON,
                    ): SAME
                },
            ),
        ),
    ),
)
