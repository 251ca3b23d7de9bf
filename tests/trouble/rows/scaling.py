"""A workload that is scaled during its release: to zero and back, or from size to size."""

from tests.cluster.manifests import STABLE_IMAGE
from tests.cluster.status_fields import at
from tests.cluster.story import conclude
from tests.trouble import forms
from tests.trouble.forms import (
    ADVANCED_STATEFUL,
    BLUE_GREEN,
    CANARY,
    CLONES,
    CLONES_DOUBLED,
    FORMS,
    ON_NODES,
    PACED,
    STATEFUL,
)
from tests.trouble.scene import Scene
from tests.trouble.table import Message, Row, Trouble
from tests.trouble.why import theirs

WITHOUT_REPLICAS = "these kinds have one pod for each node, and no replicas"
SCALED = tuple(form for form in FORMS if form not in ON_NODES)


async def goes_to_zero_and_comes_back(scene: Scene) -> None:
    """At zero nothing is released. The stable version does not change; when there are replicas again, the stable pods
    come first, and the steps begin again.
    """
    await scene.begin()
    await scene.reach(2)
    await scene.scale(0)
    await scene.no_pods()
    await scene.moment()
    await scene.rollout(lambda status: at(status, 1, "BeforeStepUpgrade"))
    await scene.is_explained()
    scaled = scene.scale(scene.app.replicas)
    await scene.follows("kubectl scale deployment/shop --replicas=NUMBER", scaled)
    await scene.at_its_share()
    await scene.paused_at(1)
    await scene.approve(1)
    await scene.paused_at(2)
    await scene.approve(2)
    await conclude(scene)


async def goes_to_zero_and_back_at_once(scene: Scene) -> None:
    """The workload is scaled to zero, and up again before its pods are gone. In the end no more than the step's share
    of the pods is new, at the present step or at step 1, and the old template is still a rollback. One race is
    possible, but not in canary style: the workload's own controller reads both sizes before Moonshift has read zero,
    and creates all pods from the newest revision. Moonshift replaces these pods as soon as it reads the size: it adds
    stable pods first, and for a moment there can be more pods than `maxSurge` allows. To avoid the race, wait until
    the release is at step 1 again (`kubectl moonshift status`) before you scale up.
    """
    await scene.begin()
    await scene.reach(2)
    for rule in ("enough_pods_are_ready", "blue_green_keeps_every_old_pod"):
        scene.excused[rule] = "for a moment no pod is asked for"
    for rule in ("routes_lead_to_ready_pods", "Margin"):
        scene.excused[rule] = "for a moment no pod is asked for"
    scene.excused["new_pods_find_the_stable_service_pinned"] = "who is ready first answers"
    for rule in ("new_pods_stay_within_the_approved_step", "EmptySides"):
        scene.excused[rule] = "the workload's own controller may be the first to read both sizes"
    for rule in ("StepsInOrder", "ShareNeverFalls"):
        scene.excused[rule] = "the release begins again if Moonshift reads the zero"
    scene.excused["pods_stay_within_the_surge"] = (
        "stable pods are added before the Deployment's controller removes as many new ones"
    )
    await scene.flicker()
    await scene.moment()
    await scene.at_its_share()
    await scene.gets_its_traffic()
    await scene.release(STABLE_IMAGE)
    await conclude(scene)


SIZES = (6, 7, 8, 4)


async def keeps_its_share_at_every_size(scene: Scene) -> None:
    """The step waits at 50 %, and the workload has 5, 6, 7, 8 and 4 replicas in turn: 3, 3, 4, 4 and 2 pods are new,
    and the route gives them 50 %."""
    await _scaled(scene, (3, 4, 4, 2))


async def keeps_its_new_pods_when_it_shrinks(scene: Scene) -> None:
    """The step waits at 50 %, and the workload has 5, 6, 7, 8 and 4 replicas in turn: 3, 3, 4, 4 and 4 pods are new in
    addition to all old ones, because no new pod is removed before the end. The route gives them 50 %.
    """
    await _scaled(scene, (3, 4, 4, 4))


async def adds_to_its_larger_revision(scene: Scene) -> None:
    """The step waits at 50 %, and the workload has 5, 6, 7, 8 and 4 replicas in turn: 3, 4, 5, 6 and 3 pods are new.
    When a single pod is added, the Deployment's own controller adds it to the larger revision. The route gives the new
    pods 50 %."""
    await _scaled(scene, (4, 5, 6, 3))


async def adds_at_its_upper_end(scene: Scene) -> None:
    """The step waits at 50 %, and the workload has 5, 6, 7, 8 and 4 replicas in turn: 3, 4, 5, 6 and 2 pods are new.
    Pods are added and removed at the highest ordinals, where the new pods are. The route gives the new pods 50 %."""
    await _scaled(scene, (4, 5, 6, 2))


async def _scaled(scene: Scene, new: tuple[int, ...]) -> None:
    scene.app = forms.sized(scene.app, 5)
    scene.size = 5
    await scene.begin()
    await scene.reach(2)
    await scene.at_its_share()
    for size, wanted in zip(SIZES, new, strict=True):
        await scene.scale(size)
        await scene.runs(old=size if scene.app.beside else size - wanted, new=wanted)
    await scene.moment()
    await scene.approve(2)
    await conclude(scene)


TROUBLES = (
    Trouble(
        "scaled-to-zero",
        "The workload is scaled to zero during a release, and back",
        (
            Row(
                goes_to_zero_and_comes_back,
                (
                    Message(
                        "message",
                        "workload is scaled to zero replicas, or was: the release starts again at step 1 with the "
                        "stable revision",
                    ),
                ),
                ("nothing: the steps are approved again, from the first on",),
                why=(
                    "waits for the workload to have replicas: it is scaled to zero",
                    theirs(
                        "scale deployment/shop --replicas=NUMBER", "let the release begin again"
                    ),
                ),
                played=SCALED,
                often=(BLUE_GREEN,),
                killed=(PACED,),
            ),
            Row(
                goes_to_zero_and_back_at_once,
                (),
                ("nothing",),
                played=SCALED,
                often=(PACED,),
                killed=(CLONES,),
            ),
        ),
        except_for={ON_NODES: WITHOUT_REPLICAS},
    ),
    Trouble(
        "scaled",
        "The workload is scaled up and down during a release",
        (
            Row(
                keeps_its_share_at_every_size,
                (),
                ("nothing",),
                played=(BLUE_GREEN, CLONES),
                often=(BLUE_GREEN,),
                killed=(BLUE_GREEN, CLONES),
            ),
            Row(
                keeps_its_new_pods_when_it_shrinks,
                (),
                ("nothing",),
                played=(CANARY, CLONES_DOUBLED),
                killed=(CANARY,),
            ),
            Row(adds_to_its_larger_revision, (), ("nothing",), played=(PACED,), killed=(PACED,)),
            Row(
                adds_at_its_upper_end,
                (),
                ("nothing",),
                played=(STATEFUL, ADVANCED_STATEFUL),
                killed=(STATEFUL,),
            ),
        ),
        except_for={ON_NODES: WITHOUT_REPLICAS},
    ),
)
