"""Actions of people on the Rollout itself during a release."""

from dataclasses import replace

from tests.cluster import manifests
from tests.cluster.invariants import REVISION_LABELS
from tests.cluster.kinds import ROLLOUTS, SERVICES
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, THIRD_IMAGE, StepPlan
from tests.cluster.story import assert_kept, conclude
from tests.cluster.view import deleting, image_of
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
from tests.trouble.scene import Scene, State
from tests.trouble.table import Message, Row, Trouble
from tests.trouble.why import theirs

SAME = "the Rollout's part is the same for every kind; releases of it are in the tables of `tests/cluster`"


async def goes_back_to_the_old_template(scene: Scene) -> None:
    """All traffic goes to the old pods; in partition style, the ready old pods first grow to two thirds of the
    replicas. After the grace period the new pods are removed.
    """
    await scene.begin()
    await scene.reach(2)
    await scene.release(STABLE_IMAGE)
    await scene.moment()
    await conclude(scene)


async def makes_way_for_a_third_revision(scene: Scene) -> None:
    """In partition style, old pods first replace abandoned ones within the owner's `maxUnavailable`, until the ready
    old pods are two thirds of the replicas. Then traffic returns to the old pods, the abandoned ones are removed after
    the grace period, and the steps begin again.
    """
    await scene.begin()
    await scene.reach(2)
    await scene.restart(THIRD_IMAGE)
    await scene.moment()
    await scene.approve_all()
    await conclude(scene)


async def exchanges_abandoned_pods_until_old_ones_can_take_the_traffic(scene: Scene) -> None:
    """Old pods replace abandoned ones, as many at a time as the owner's `maxUnavailable` allows, until the ready old
    pods are two thirds of the replicas. Then the traffic returns to the old pods and the steps begin again. The other
    abandoned pods stay until a step needs their places.
    """
    await _is_released_again(scene, [STABLE_IMAGE] * 3 + [THIRD_IMAGE])


async def gives_the_abandoned_places_to_a_third_revision(scene: Scene) -> None:
    """Traffic returns to the old pods and the steps begin again. The abandoned pods stay until a step needs their
    places: a DaemonSet's controller creates no pod of an older template.
    """
    await _is_released_again(scene, [STABLE_IMAGE] * 2 + [NEW_IMAGE, THIRD_IMAGE])


async def _is_released_again(scene: Scene, at_step_1: list[str]) -> None:
    await scene.begin()
    await scene.reach(2)
    await scene.restart(THIRD_IMAGE)
    await scene.moment()
    await scene.paused_at(1)
    await scene.eventually(lambda _: _images(scene) == at_step_1, str(at_step_1))
    await scene.approve(1)
    await scene.paused_at(2)
    await scene.eventually(
        lambda _: _images(scene) == [STABLE_IMAGE] * 2 + [THIRD_IMAGE] * 2, "0 abandoned"
    )
    await scene.approve(2)
    await conclude(scene)


def _images(scene: Scene) -> list[str]:
    return sorted(image_of(pod) for pod in scene.pods() if not deleting(pod))


async def is_deleted(scene: Scene) -> None:
    """Traffic returns to the old pods; Services and routes are restored; then the workload's own controller updates it
    to the new template.
    """
    await scene.begin()
    await scene.reach(2)
    await scene.does("kubectl delete rollout/shop --wait=false")
    scene.was_deleted()
    await scene.moment()
    await scene.gone(ROLLOUTS)
    await scene.pods_ready()
    assert_kept(await scene.violations(), scene)


async def is_disabled(scene: Scene) -> None:
    """Traffic returns to the old pods; then the workload's own controller updates it to the new template."""
    await scene.begin()
    await scene.reach(2)
    await scene.disable()
    await scene.moment()
    await scene.rollout(lambda status: status.get("phase") == "Disabled")
    await scene.pods_ready()
    assert_kept(await scene.violations(), scene)


async def is_made_again_disabled(scene: Scene) -> None:
    """The finalizer is removed in the middle of a release, and the Rollout is made again with `disabled: true`. The
    Service that the former one had pinned selects all pods again, before the old ones go.
    """
    await scene.begin()
    await scene.reach(2)
    scene.excused["new_pods_find_the_stable_service_pinned"] = "nobody releases any more"
    await scene.does("kubectl delete rollout/shop --wait=false")
    scene.was_deleted()
    await scene.does(FINALIZER_OFF)
    await scene.gone(ROLLOUTS)
    again = forms.rollout(scene.app)
    again["spec"]["disabled"] = True
    await scene.create(again)
    await scene.moment()
    await scene.rollout(lambda status: status.get("phase") == "Disabled")
    await scene.eventually(lambda state: not _is_pinned(scene, state), "the Service is free")
    await scene.pods_serve()


def _is_pinned(scene: Scene, state: State) -> bool:
    return bool(REVISION_LABELS & state[scene.key(SERVICES)]["spec"]["selector"].keys())


async def has_its_plan_edited(scene: Scene) -> None:
    """A step is inserted after the present one; the release continues with the new plan."""
    await scene.begin()
    await scene.reach(1)
    strategy = "blueGreen" if scene.app.blue_green else "canary"
    more = {"replicas": "40%", "traffic": "40%", "pause": {}}
    first, last = forms.percent_steps()
    await scene.amend({"spec": {"strategy": {strategy: {"steps": [first, more, last]}}}})
    await scene.event("PlanEdited")
    await scene.moment()
    scene.app = replace(scene.app, steps=(StepPlan(1, 20), StepPlan(2, 40), StepPlan(2, 50)))
    for step in (1, 2, 3):
        await scene.paused_at(step)
        await scene.approve(step)
    await conclude(scene)


async def loses_its_workload(scene: Scene) -> None:
    """Services and routes are restored. A workload that is created again with the same name starts without a release:
    its template is the stable one.
    """
    await scene.begin()
    await scene.reach(2)
    await scene.does("kubectl delete <kind>/shop")
    await scene.moment()
    await scene.rollout(lambda status: status.get("phase") == "Initial")
    await scene.is_explained()
    await scene.follows("kubectl apply -f FILE", scene.create(manifests.workload(scene.app)))
    await scene.rollout(lambda status: status.get("phase") == "Healthy")
    await scene.pods_serve()
    await scene.recorder.caught_up()
    scene.begins_anew()
    await scene.release(NEW_IMAGE)
    await scene.reach(2)
    await scene.approve(2)
    await conclude(scene)


async def loses_its_namespace(scene: Scene) -> None:
    """Everything is deleted, finalizers included; nothing blocks the namespace."""
    await scene.begin()
    await scene.reach(2)
    await scene.plane.kubectl("delete", "namespace", scene.app.namespace, NAMESPACE_GOES)


NAMESPACE_GOES = "--timeout=140s"
"""Longer than the namespace controller needs on a busy machine; a finalizer that blocks the namespace has no end."""
FINALIZER_OFF = 'kubectl patch rollout/shop --type merge -p \'{"metadata":{"finalizers":null}}\''


async def loses_its_namespace_without_a_controller(scene: Scene) -> None:
    """While no controller runs, the Rollout's finalizer blocks the namespace. Remove it, and everything is deleted."""
    await scene.begin()
    await scene.reach(2)
    await scene.running.controller.kill()
    try:
        namespace = scene.app.namespace
        await scene.plane.client().delete(f"/api/v1/namespaces/{namespace}")
        await scene.does(FINALIZER_OFF)
        await scene.plane.kubectl("wait", "--for=delete", f"namespace/{namespace}", NAMESPACE_GOES)
    finally:
        await scene.running.controller.start()


TROUBLES = (
    Trouble(
        "template-back",
        "The old template is applied during a release",
        (
            Row(
                goes_back_to_the_old_template,
                (
                    Message(
                        "Progressing Cancelling",
                        "The workload has been rolled back and the rollout process will be canceled",
                    ),
                ),
                ("nothing: this is the way back",),
                killed=(BLUE_GREEN, ADVANCED_STATEFUL),
                played=FORMS,
            ),
        ),
    ),
    Trouble(
        "third-revision",
        "A third template is applied during a release",
        (
            Row(
                makes_way_for_a_third_revision,
                (Message("Progressing Initializing", "Workload is continuous release"),),
                ("nothing: the steps are approved again, from the first on",),
                killed=(PACED, CLONES),
                played=(*DEPLOYMENTS, CLONES, CLONES_DOUBLED),
            ),
            Row(
                exchanges_abandoned_pods_until_old_ones_can_take_the_traffic,
                (Message("Progressing Initializing", "Workload is continuous release"),),
                ("nothing: the steps are approved again, from the first on",),
                played=(STATEFUL, ADVANCED_STATEFUL),
                killed=(STATEFUL,),
            ),
            Row(
                gives_the_abandoned_places_to_a_third_revision,
                (Message("Progressing Initializing", "Workload is continuous release"),),
                ("nothing: the steps are approved again, from the first on",),
                played=(DAEMON, ADVANCED_DAEMON),
                killed=(DAEMON,),
            ),
        ),
    ),
    Trouble(
        "rollout-gone",
        "The Rollout is deleted or disabled during a release",
        (
            Row(
                is_deleted,
                (
                    Message(
                        "message",
                        "Rollout is terminating: traffic goes back to stable, then the workload is released",
                    ),
                ),
                (
                    "nothing; to take the release back instead, apply the old template before you delete the Rollout",
                ),
                killed=(PACED, CLONES_DOUBLED),
                played=FORMS,
            ),
            Row(
                is_disabled,
                (
                    Message(
                        "message",
                        "Rollout is disabling: traffic goes back to stable, then the workload is released",
                    ),
                ),
                ("nothing: the Rollout can be enabled again for the next release",),
                played=FORMS,
                killed=(CANARY,),
            ),
            Row(
                is_made_again_disabled,
                (
                    Message(
                        "message",
                        "Rollout is disabling: traffic goes back to stable, then the workload is released",
                    ),
                ),
                ("nothing: the Service selects all pods again",),
                played=(PACED, CANARY),
                derived={(BLUE_GREEN, STATEFUL, DAEMON, *KRUISE): SAME},
            ),
        ),
    ),
    Trouble(
        "plan-edited",
        "The Rollout's plan is edited during a release",
        (
            Row(
                has_its_plan_edited,
                (
                    Message(
                        "Event PlanEdited",
                        "the plan was edited in step(1): the step goes on as it was",
                    ),
                ),
                ("nothing",),
                played=FORMS,
                killed=(STATEFUL,),
            ),
        ),
    ),
    Trouble(
        "workload-gone",
        "The workload is deleted during a release, and made again",
        (
            Row(
                loses_its_workload,
                (Message("message", "Workload Not Found: <kind> shop"),),
                ("apply the workload again",),
                why=(
                    "waits for its workload: Workload Not Found: Deployment shop",
                    theirs("apply -f FILE", "FILE: the manifest of Deployment shop"),
                ),
                played=FORMS,
                killed=(ADVANCED_DAEMON,),
                often=(CANARY,),
            ),
        ),
    ),
    Trouble(
        "namespace-gone",
        "The namespace is deleted during a release",
        (
            Row(
                loses_its_namespace,
                (),
                ("nothing",),
                played=FORMS,
                often=(PACED,),
            ),
            Row(
                loses_its_namespace_without_a_controller,
                (),
                (FINALIZER_OFF,),
                played=(CANARY,),
                derived={(PACED, BLUE_GREEN, STATEFUL, DAEMON, *KRUISE): SAME},
                alone=True,
            ),
        ),
    ),
)
