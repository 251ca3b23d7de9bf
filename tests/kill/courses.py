"""The courses that people give an interrupted release: it continues, or they turn it round at its first pause.

Invariant: a course begins when step 1 waits for its approval, with pods ready and the route moved; it ends when nothing
is under way any more and every pod has the template that the owner asked for last.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from localcluster.api import JsonObject
from localcluster.history import Key
from tests.cluster.kinds import PODS, ROLLOUTS
from tests.cluster.manifests import STABLE_IMAGE, THIRD_IMAGE
from tests.cluster.story import Story
from tests.cluster.view import deleting, image_of, ready

Course = Callable[[Story], Awaitable[None]]


async def goes_through(story: Story) -> None:
    """Every step is approved."""
    await story.approve_all()
    await story.completed()


async def is_rolled_back(story: Story) -> None:
    """The stable template is applied."""
    await story.release(STABLE_IMAGE)
    await story.completed()


async def starts_over(story: Story) -> None:
    """A third revision comes, and goes through."""
    await story.restart(THIRD_IMAGE)
    await story.approve_all()
    await story.completed()


async def loses_its_rollout(story: Story) -> None:
    """The Rollout is deleted."""
    await story.delete()
    await story.gone(ROLLOUTS)


async def is_switched_off(story: Story) -> None:
    """The Rollout is disabled."""
    await story.disable()
    await story.rollout(lambda status: status.get("phase") == "Disabled")


STRAIGHT = "straight"
COURSES: dict[str, Course] = {
    STRAIGHT: goes_through,
    "rollback": is_rolled_back,
    "third revision": starts_over,
    "deletion": loses_its_rollout,
    "disabling": is_switched_off,
}


async def whole(story: Story) -> None:
    """There are as many pods as the owner wants, all ready and of the template asked for last."""
    spec = story.expected[story.key(story.workload)]["spec"]
    image = spec["template"]["spec"]["containers"][0]["image"]
    await story.recorder.until_state(partial(_whole, story, image))


def _whole(story: Story, image: str, state: Mapping[Key, JsonObject]) -> bool:
    pods = [
        pod
        for key, pod in state.items()
        if key.kind == PODS
        and key.namespace == story.app.namespace
        and pod["metadata"]["labels"].get("app") == story.app.name
    ]
    alive = [p for p in pods if ready(p) and not deleting(p) and image_of(p) == image]
    return len(pods) == len(alive) == story.size
