"""What people do to the Rollout itself while it releases."""

from tests.cluster.kinds import ROLLOUTS
from tests.cluster.manifests import STABLE_IMAGE, THIRD_IMAGE
from tests.cluster.story import assert_kept, conclude
from tests.trouble.forms import KRUISE, NATIVE, PACED
from tests.trouble.scene import Scene
from tests.trouble.table import Row, Said, Trouble

SAME = "the Rollout's part is the same for every kind; releases of it are in the tables of `tests/cluster`"


async def goes_back_to_the_old_template(scene: Scene) -> None:
    """All traffic goes to the old pods at once, and after the grace period the new ones go."""
    await scene.begin()
    await scene.reach(2)
    await scene.release(STABLE_IMAGE)
    await scene.moment()
    await conclude(scene)


async def makes_way_for_a_third_revision(scene: Scene) -> None:
    """Traffic goes back to the old pods, the abandoned ones go after the grace period, and the steps begin again."""
    await scene.begin()
    await scene.reach(2)
    await scene.restart(THIRD_IMAGE)
    await scene.moment()
    await scene.approve_all()
    await conclude(scene)


async def is_deleted(scene: Scene) -> None:
    """Traffic goes back to the old pods; Services and routes are given back; then the workload goes on to the new
    template by itself."""
    await scene.begin()
    await scene.reach(2)
    await scene.does("kubectl delete rollout/shop --wait=false")
    scene.was_deleted()
    await scene.moment()
    await scene.gone(ROLLOUTS)
    await scene.pods_ready()
    assert_kept(await scene.violations(), scene)


async def is_disabled(scene: Scene) -> None:
    """Traffic goes back to the old pods; then the workload goes on to the new template by itself."""
    await scene.begin()
    await scene.reach(2)
    await scene.disable()
    await scene.moment()
    await scene.rollout(lambda status: status.get("phase") == "Disabled")
    await scene.pods_ready()
    assert_kept(await scene.violations(), scene)


TROUBLES = (
    Trouble(
        "template-back",
        "The old template is applied mid-release",
        (
            Row(
                goes_back_to_the_old_template,
                (
                    Said(
                        "Progressing Cancelling",
                        "The workload has been rolled back and the rollout process will be canceled",
                    ),
                ),
                ("nothing: this is the way back",),
                played=NATIVE,
                often=(PACED,),
                derived={KRUISE: SAME},
            ),
        ),
    ),
    Trouble(
        "third-revision",
        "A third template is applied mid-release",
        (
            Row(
                makes_way_for_a_third_revision,
                (Said("Progressing Initializing", "Workload is continuous release"),),
                ("nothing: the steps are approved again, from the first on",),
                played=NATIVE,
                derived={KRUISE: SAME},
            ),
        ),
    ),
    Trouble(
        "rollout-gone",
        "The Rollout is deleted or disabled mid-release",
        (
            Row(
                is_deleted,
                (
                    Said(
                        "message",
                        "Rollout is terminating: traffic goes back to stable, then the workload is released",
                    ),
                ),
                ("kubectl delete rollout/shop --wait=false",),
                played=NATIVE,
                often=(PACED,),
                derived={KRUISE: SAME},
            ),
            Row(
                is_disabled,
                (
                    Said(
                        "message",
                        "Rollout is disabling: traffic goes back to stable, then the workload is released",
                    ),
                ),
                ("nothing: the Rollout can be enabled again for the next release",),
                played=NATIVE,
                derived={KRUISE: SAME},
            ),
        ),
    ),
)
