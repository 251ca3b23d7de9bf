"""Actions of people on a workload's manifests during its release."""

from localcluster.api import JsonObject
from localcluster.history import Change
from tests.cluster import manifests
from tests.cluster.kinds import PODS, path_of
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, THIRD_IMAGE
from tests.cluster.status_fields import revision_of
from tests.cluster.story import conclude
from tests.cluster.view import image_of
from tests.trouble.forms import (
    ADVANCED_DAEMON,
    BLUE_GREEN,
    CANARY,
    CLONES,
    CLONES_DOUBLED,
    DAEMON,
    FORMS,
    KRUISE,
    PACED,
    STATEFUL,
)
from tests.trouble.scene import Scene
from tests.trouble.table import Message, Row, Trouble
from tests.trouble.why import APPROVE, UNDO, ours, theirs

LABEL_STAYS = Message(
    "warned",
    "<Kind> shop is under a release, so the label rollouts.kruise.io/workload-type and the other marks of the release "
    "stay: to let it go now, delete its Rollout or set spec.disabled of the Rollout to true",
)
WAITS_FOR_A_RESUME = Message(
    "warned",
    "Deployment shop is under a release, which does not go on while you keep spec.paused true",
)
PAUSED_BY_OWNER = Message(
    "Stalled PausedByOwner",
    "Deployment <namespace>/shop is paused, and not by Moonshift: set spec.paused to false to go on",
)
LET_GO = (
    "patch cloneset.apps.kruise.io/shop --type merge "
    '-p \'{"spec":{"updateStrategy":{"paused":false}}}\''
)
RESTART = (
    "kubectl patch <kind>/shop --type merge -p "
    '\'{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}\''
)
"""The patch that `kubectl rollout restart` writes for kinds that kubectl knows."""


async def is_replaced_without_our_marks(scene: Scene) -> None:
    """`kubectl replace` with the owner's manifest removes all our labels and annotations. Admission and the controller
    restore those that they need, and the release stays at its step.
    """
    await scene.begin()
    await scene.reach(2)
    await scene.replaces(manifests.workload(scene.app, NEW_IMAGE))
    await scene.moment()
    await scene.labelled_again()
    await scene.at_its_share()
    await scene.approve(2)
    await conclude(scene)


async def loses_the_label_of_its_kind(scene: Scene) -> None:
    """Admission selects workloads by this label, so it keeps the label while a release is under way."""
    await scene.begin()
    await scene.reach(2)
    await scene.does("kubectl label <kind>/shop rollouts.kruise.io/workload-type-")
    await scene.moment()
    await scene.labelled_again()
    await scene.at_its_share()
    await scene.approve(2)
    await conclude(scene)


async def is_restarted(scene: Scene) -> None:
    """A restart changes the template, so it is a third revision: traffic goes back to the old pods, and the steps
    begin again."""
    await scene.begin()
    await scene.reach(2)
    await scene.does("kubectl rollout restart <kind>/shop")
    await _begins_again(scene)


async def is_restarted_by_a_patch(scene: Scene) -> None:
    """kubectl cannot restart this kind. The annotation that it writes for others changes the template, so it is a third
    revision: traffic goes back to the old pods, and the steps begin again."""
    await scene.begin()
    await scene.reach(2)
    await scene.does("kubectl rollout restart <kind>/shop", fails=True)
    await scene.does(RESTART)
    await _begins_again(scene)


async def _begins_again(scene: Scene) -> None:
    key = scene.key(scene.workload)
    live = await scene.client.get(path_of(key))
    template = scene.expected[key]["spec"]["template"] = live["spec"]["template"]
    await scene.recorder.caught_up()
    changes = (change for change in scene.recorder.history() if change.key == key)
    since = next(c.resource_version for c in changes if c.object["spec"]["template"] == template)
    scene.expect_image(NEW_IMAGE, since)
    await scene.moment()
    await scene.event("ReleaseRestarted")
    if scene.form in (PACED, CLONES):
        scene.excused["enough_pods_are_ready"] = "the abandoned pods go before stable is refilled"
    await scene.reach(2)
    await scene.approve(2)
    await conclude(scene)


async def is_not_restarted(scene: Scene) -> None:
    """In canary style the Deployment is paused until the end, and kubectl refuses to restart a paused one."""
    await scene.begin()
    await scene.reach(2)
    await scene.does("kubectl rollout restart <kind>/shop", fails=True)
    await scene.moment()
    await scene.at_its_share()
    await scene.approve(2)
    await conclude(scene)


async def is_paused_by_its_owner(scene: Scene) -> None:
    """`kubectl rollout pause` is the owner's decision: no pod changes until the owner resumes. kubectl refuses to
    resume a Deployment that is not paused, and to restart a paused one.
    """
    await scene.begin()
    await scene.reach(1)
    await scene.does("kubectl rollout resume <kind>/shop", fails=True)
    await scene.does("kubectl rollout pause <kind>/shop")
    await scene.does("kubectl rollout restart <kind>/shop", fails=True)
    await scene.approve(1)
    await scene.stalled("PausedByOwner")
    await scene.is_explained()
    await scene.moment()
    await scene.does("kubectl rollout resume <kind>/shop")
    await scene.paused_at(2)
    await scene.approve(2)
    await conclude(scene)


async def is_given_another_template_under_a_pause(scene: Scene) -> None:
    """Another template during the pause changes no pod either: traffic returns to the old pods, and the steps begin
    again when the owner resumes. The old template is a rollback, also during a pause.
    """
    await scene.begin()
    await scene.reach(1)
    await scene.does("kubectl rollout pause <kind>/shop")
    before = revision_of(await scene.status())
    await scene.release(THIRD_IMAGE)
    await scene.stalled("PausedByOwner")
    await scene.moment()
    await scene.never(UNDER_A_PAUSE_SECONDS, _is_pod_of_the_third)
    await scene.does("kubectl rollout resume <kind>/shop")
    await scene.is_about_another_than(before)
    await scene.approve_all()
    await conclude(scene)


UNDER_A_PAUSE_SECONDS = 5


def _is_pod_of_the_third(change: Change) -> bool:
    return change.key.kind == PODS and image_of(change.object) == THIRD_IMAGE


async def is_paused_before_the_template_comes(scene: Scene) -> None:
    """A Deployment that its owner has paused is not released before it is resumed: nothing is changed, and the steps
    begin when the owner resumes.
    """
    await scene.install()
    await scene.govern()
    await scene.does("kubectl rollout pause <kind>/shop")
    await scene.release(NEW_IMAGE)
    del scene.expected[scene.key(scene.workload)]["spec"]["paused"]
    await scene.stalled("PausedByOwner")
    await scene.moment()
    await scene.does("kubectl rollout resume <kind>/shop")
    await scene.goes_on()
    await scene.approve_all()
    await conclude(scene)


async def cannot_be_paused(scene: Scene) -> None:
    """kubectl refuses to pause this kind. To pause a release, set `spec.strategy.paused` of the Rollout."""
    await scene.begin()
    await scene.reach(1)
    await scene.does("kubectl rollout pause <kind>/shop", fails=True)
    await scene.does("kubectl moonshift pause shop")
    await scene.is_explained()
    await scene.moment()
    await scene.does("kubectl moonshift resume shop")
    await scene.approve(1)
    await scene.paused_at(2)
    await scene.approve(2)
    await conclude(scene)


async def is_paused_in_its_strategy(scene: Scene) -> None:
    """kubectl refuses to pause this kind, but its update strategy can be paused. That is the owner's decision: no pod
    changes until the owner resumes.
    """
    await scene.begin()
    await scene.reach(1)
    await scene.does("kubectl rollout pause <kind>/shop", fails=True)
    await scene.amend(_paused(scene, paused=True), scene.workload)
    await scene.approve(1)
    await scene.stalled("PausedByOwner")
    await scene.is_explained()
    await scene.moment()
    resumed = scene.amend(_paused(scene, paused=False), scene.workload)
    await scene.follows(f"kubectl {LET_GO}", resumed)
    await scene.goes_on()
    await scene.paused_at(2)
    await scene.approve(2)
    await conclude(scene)


def _paused(scene: Scene, *, paused: bool) -> JsonObject:
    part: JsonObject = {"paused": paused or None}
    whole = part if scene.app.kind_name == "CloneSet" else {"rollingUpdate": part}
    return {"spec": {"updateStrategy": whole}}


async def is_resumed_while_it_is_latched(scene: Scene) -> None:
    """The Deployment is paused by the release itself and stays so: kubectl refuses to pause it, and admission answers
    the resume with a warning."""
    await scene.begin()
    await scene.reach(2)
    await scene.does("kubectl rollout pause <kind>/shop", fails=True)
    await scene.does("kubectl rollout resume <kind>/shop")
    await scene.moment()
    await scene.at_its_share()
    await scene.is_explained()
    await scene.approves()
    await conclude(scene)


async def is_undone_by_kubectl(scene: Scene) -> None:
    """The old template is a rollback: all traffic goes to the old pods, then the new ones are removed."""
    await scene.begin()
    await scene.reach(2)
    await scene.does("kubectl rollout undo <kind>/shop")
    scene.expect_image(STABLE_IMAGE)
    await scene.moment()
    await conclude(scene)


async def is_undone_by_moonshift(scene: Scene) -> None:
    """The Deployment has only had one ReplicaSet, so kubectl finds no revision to go back to; `kubectl moonshift undo`
    does.
    """
    await scene.begin()
    await scene.reach(2)
    await scene.does("kubectl rollout undo <kind>/shop", fails=True)
    await scene.does("kubectl moonshift undo shop")
    scene.expect_image(STABLE_IMAGE)
    await scene.moment()
    await conclude(scene)


async def is_undone_by_moonshift_alone(scene: Scene) -> None:
    """kubectl cannot undo this kind; `kubectl moonshift undo` does."""
    await is_undone_by_moonshift(scene)


async def is_applied_by_the_server(scene: Scene) -> None:
    """Workload and Service are applied without a conflict; the overwritten pin is restored. The list by which a route
    divides traffic belongs to the release while it lasts, and to the owner again afterwards.
    """
    for body in manifests.objects(scene.app):
        await _applied(scene, body)
    await scene.pods_ready()
    await scene.govern()
    await scene.release(NEW_IMAGE)
    await _applied(scene, manifests.workload(scene.app, NEW_IMAGE), "--force-conflicts")
    await scene.reach(2)
    *others, route = _all_of(scene)
    for body in others:
        await _applied(scene, body)
    await scene.is_refused(_applied(scene, route))
    await scene.moment()
    await scene.at_its_share()
    await scene.approve(2)
    await conclude(scene)
    for body in _all_of(scene):
        await _applied(scene, body)


def _all_of(scene: Scene) -> list[JsonObject]:
    return [manifests.workload(scene.app, NEW_IMAGE), *manifests.objects(scene.app)[1:]]


async def _applied(scene: Scene, body: JsonObject, *more: str) -> None:
    await scene.types("apply", "--server-side", *more, "-f", "-", body=body)


TROUBLES = (
    Trouble(
        "replaced",
        "The workload's manifest is replaced during a release",
        (
            Row(
                is_replaced_without_our_marks,
                (LABEL_STAYS,),
                ("nothing",),
                killed=(CANARY,),
                played=FORMS,
                often=(PACED,),
            ),
        ),
    ),
    Trouble(
        "label-off",
        "The label `rollouts.kruise.io/workload-type` is taken off during a release",
        (
            Row(
                loses_the_label_of_its_kind,
                (LABEL_STAYS,),
                ("nothing; to let the workload go, delete the Rollout",),
                played=FORMS,
                often=(BLUE_GREEN, STATEFUL),
            ),
        ),
    ),
    Trouble(
        "kubectl-rollout-restart",
        "`kubectl rollout restart` during a release",
        (
            Row(
                is_restarted,
                (Message("Progressing Initializing", "Workload is continuous release"),),
                ("nothing: the steps are approved again, from the first on",),
                played=(PACED, BLUE_GREEN, STATEFUL, DAEMON),
                often=(DAEMON,),
                killed=(BLUE_GREEN,),
            ),
            Row(
                is_restarted_by_a_patch,
                (
                    Message("refused", "error: <why>"),
                    Message("Progressing Initializing", "Workload is continuous release"),
                ),
                (RESTART,),
                played=KRUISE,
                killed=(CLONES,),
            ),
            Row(
                is_not_restarted,
                (
                    Message(
                        "refused",
                        'error: deployments.apps "shop" can\'t restart paused deployment (run rollout resume first)',
                    ),
                ),
                ("apply the template you want, or wait for the end of the release",),
                played=(CANARY,),
            ),
        ),
    ),
    Trouble(
        "kubectl-rollout-pause",
        "`kubectl rollout pause` and `resume` during a release",
        (
            Row(
                is_paused_by_its_owner,
                (
                    Message("refused", 'error: deployments.apps "shop" is not paused'),
                    Message(
                        "refused",
                        'error: deployments.apps "shop" can\'t restart paused deployment (run rollout resume first)',
                    ),
                    WAITS_FOR_A_RESUME,
                    PAUSED_BY_OWNER,
                ),
                ("kubectl rollout resume <kind>/shop",),
                why=(theirs("rollout resume deployment/shop", "take the pause back"),),
                played=(PACED, BLUE_GREEN),
                often=(PACED,),
            ),
            Row(
                is_given_another_template_under_a_pause,
                (WAITS_FOR_A_RESUME, PAUSED_BY_OWNER),
                ("kubectl rollout resume <kind>/shop",),
                played=(PACED, BLUE_GREEN),
                often=(PACED,),
                killed=(BLUE_GREEN,),
            ),
            Row(
                is_paused_before_the_template_comes,
                (PAUSED_BY_OWNER,),
                ("kubectl rollout resume <kind>/shop",),
                played=(PACED, CANARY, BLUE_GREEN),
                often=(CANARY,),
            ),
            Row(
                is_resumed_while_it_is_latched,
                (
                    Message("refused", 'error: deployments.apps "shop" is already paused'),
                    Message(
                        "warned",
                        "Deployment shop stays paused until traffic is safe; its Rollout lets it go on by itself",
                    ),
                ),
                ("nothing: approve the step, or take the release back",),
                why=("waits for an approval", APPROVE, UNDO),
                played=(CANARY,),
            ),
            Row(
                cannot_be_paused,
                (Message("refused", "error: <why>"),),
                ("kubectl moonshift pause shop",),
                why=(
                    "waits for `kubectl moonshift resume`: spec.strategy.paused is true",
                    ours("resume", "let the release go on"),
                ),
                played=(STATEFUL, DAEMON),
            ),
            Row(
                is_paused_in_its_strategy,
                (
                    Message("refused", "error: <why>"),
                    Message(
                        "Stalled PausedByOwner",
                        "<Kind> <namespace>/shop is paused in spec.updateStrategy by its owner: set paused to false to "
                        "go on",
                    ),
                ),
                ("set `paused` of the update strategy to false",),
                why=(theirs(LET_GO, "take the pause back"),),
                played=KRUISE,
                killed=(ADVANCED_DAEMON,),
            ),
        ),
    ),
    Trouble(
        "kubectl-rollout-undo",
        "`kubectl rollout undo` during a release",
        (
            Row(
                is_undone_by_kubectl,
                (
                    Message(
                        "Progressing Cancelling",
                        "The workload has been rolled back and the rollout process will be canceled",
                    ),
                ),
                ("kubectl rollout undo <kind>/shop",),
                killed=(STATEFUL,),
                played=(PACED, BLUE_GREEN, STATEFUL, DAEMON),
                often=(PACED,),
            ),
            Row(
                is_undone_by_moonshift,
                (Message("refused", 'error: no rollout history found for deployment "shop"'),),
                ("kubectl moonshift undo shop",),
                played=(CANARY,),
            ),
            Row(
                is_undone_by_moonshift_alone,
                (Message("refused", "error: <why>"),),
                ("kubectl moonshift undo shop",),
                played=KRUISE,
                killed=(CLONES_DOUBLED,),
            ),
        ),
    ),
    Trouble(
        "server-side-apply",
        "The owner's manifests are applied server-side during a release",
        (
            Row(
                is_applied_by_the_server,
                (
                    Message(
                        "refused",
                        'error: Apply failed with 1 conflict: conflict with "moonshift" using networking.istio.io/v1: '
                        ".spec.http<what kubectl advises>",
                    ),
                ),
                ("apply the gateway object after the release",),
                played=FORMS,
                killed=(PACED,),
                often=(CANARY,),
            ),
        ),
    ),
)
