"""A Deployment is scaled to zero and back while no controller of ours decides, and gets another template before one
does.

Why on a real plane: the Deployment's own controller chooses the ReplicaSet that it fills from zero, and reacts when
we scale one; other tests use a model of that controller. The webhooks answer, so the template is admitted; the Lease
is
held, so nothing is decided. Invariant: the stable version stays the stable one, the step's share is new, and no write
is repeated for ever.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from controller.kube.lease import micro_time
from demo.stage import Product
from localcluster.api import JsonObject
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.crowd import Crowd
from tests.cluster.killed import LEASE_PATH
from tests.cluster.kruise.test_killed_releases import settled_in
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, THIRD_IMAGE
from tests.cluster.story import Story
from tests.cluster.table import application
from tests.cluster.view import deleting, image_of, ready

STEPS = [
    {"replicas": "20%", "traffic": "20%", "pause": {}},
    {"replicas": "50%", "traffic": "50%", "pause": {}},
]
PARTITION = application("Deployment")
CANARY = application("Deployment", canary=True)
BLUE_GREEN = application("Deployment", blue_green=True)
STYLES = {
    "partition": PARTITION,
    "partition of one pod": replace(PARTITION, replicas=1),
    "partition of two pods": replace(PARTITION, replicas=2),
    "canary": CANARY,
    "blue-green": BLUE_GREEN,
    "blue-green of one pod": replace(BLUE_GREEN, replicas=1),
}
MOST_WRITES = 6
"""To the ReplicaSets of one Deployment: stable is grown and held, the others are emptied or deleted."""


async def waits_at_its_first_step(story: Story) -> None:
    """A fifth of the pods is new."""
    await story.install()
    await story.govern(manifests.rollout(story.app, STEPS))
    await the_next_second()
    await story.release(NEW_IMAGE)
    await story.paused_at(1)


async def the_next_second() -> None:
    """Times of creation are whole seconds, and of one second the Deployment's controller takes the ReplicaSet with the
    greater name for the newer one: here the stable one, so that nothing would have to be brought back."""
    await asyncio.sleep(1 - time.time() % 1)


async def goes_to_zero(story: Story) -> None:
    """Its last pod has gone; in canary style, those of the extra Deployment stay."""
    await story.scale(0)
    left = Counter({NEW_IMAGE: 1} if story.app.canary else {})
    await story.recorder.until_state(lambda state: Counter(map(image_of, story.pods())) == left)


async def comes_back(story: Story) -> None:
    """All pods are of the version that the workload's controller considers newest, and they are ready."""
    size = story.app.replicas
    await story.scale(size)
    wanted = {STABLE_IMAGE: size, NEW_IMAGE: 1} if story.app.canary else {NEW_IMAGE: size}
    await story.recorder.until_state(lambda state: ready_by_image(story) == wanted)


async def gets_another_template(story: Story) -> None:
    """The template is admitted, and no controller of ours works."""
    await story.release(THIRD_IMAGE)


async def has_its_share(story: Story) -> None:
    """The third version waits at its first step, and the stable version has not changed."""
    before = stable_of(await story.status())
    await story.paused_at(1)
    await story.recorder.until_state(lambda state: ready_by_image(story) == share_of(story))
    await story.rollout(lambda status: stable_of(status) == before)
    await story.recorder.caught_up()
    assert ready_by_image(story) == share_of(story)


async def goes_back(story: Story) -> None:
    """An undo restores the stable version at once."""
    await story.release(STABLE_IMAGE)
    await story.completed()
    wanted = {STABLE_IMAGE: story.app.replicas}
    await story.recorder.until_state(lambda state: ready_by_image(story) == wanted)


def share_of(story: Story) -> Counter[str]:
    """A fifth, rounded up, in the place of stable pods or beside them."""
    size = story.app.replicas
    new = -(-size // 5)
    return +Counter({STABLE_IMAGE: size if story.app.beside else size - new, THIRD_IMAGE: new})


def ready_by_image(story: Story) -> Counter[str]:
    """Ready pods by version; none that is on its way out."""
    return Counter(image_of(pod) for pod in story.pods() if ready(pod) and not deleting(pod))


def stable_of(status: JsonObject) -> str:
    """The stable revision."""
    return str(status["moonshift"]["stableRevision"])


class Unseen:
    """The product whose controller answers webhooks and decides nothing, and the releases that it does not see."""

    def __init__(self, product: Product, crowd: Crowd) -> None:
        self.product = product
        self.crowd = crowd
        self._held = False

    async def admits_only(self) -> None:
        """Give the Lease to another holder that never renews it."""
        now = micro_time(datetime.now(UTC))
        held = {"holderIdentity": "nobody", "leaseDurationSeconds": 3600, "renewTime": now}
        await self.product.plane.client().patch(LEASE_PATH, {"spec": held})
        self._held = True
        await self.product.controller.start()

    async def looks(self) -> None:
        """Release the Lease; a leader that loses its Lease would end."""
        if not self._held:
            return
        self._held = False
        await self.product.plane.client().patch(LEASE_PATH, {"spec": {"holderIdentity": ""}})


@pytest.fixture
async def unseen(product: Product, recorder: Recorder) -> AsyncIterator[Unseen]:
    """Give releases that wait at their first step; nobody is at work."""
    found = Unseen(product, Crowd(await settled_in(STYLES, product, recorder)))
    await found.crowd.all(waits_at_its_first_step)
    assert not found.crowd.failures, "\n".join(found.crowd.failures.values())
    await product.controller.terminate()
    yield found
    await found.looks()
    if not product.controller.running:
        await product.controller.start()


def writes_to_replica_sets(product: Product, mark: int) -> Counter[str]:
    """The controller's writes to ReplicaSets since the mark, counted by namespace."""
    found = product.plane.audit.since(
        mark,
        where=lambda r: (
            r.is_write and r.resource == "replicasets" and "moonshift" in r.user_agent.lower()
        ),
    )
    return Counter(record.namespace for record in found)


async def is_released_over_what_was_stable(unseen: Unseen) -> None:
    """From the first look on."""
    mark = unseen.product.plane.audit.mark()
    await unseen.looks()
    await unseen.crowd.all(has_its_share)
    assert not unseen.crowd.failures, "\n".join(unseen.crowd.failures.values())
    writes = writes_to_replica_sets(unseen.product, mark)
    assert writes
    assert max(writes.values()) <= MOST_WRITES
    await unseen.crowd.all(goes_back)
    assert not unseen.crowd.failures, "\n".join(unseen.crowd.failures.values())


async def test_a_template_that_comes_after_an_unseen_zero_is_released_over_the_stable_revision(
    unseen: Unseen,
) -> None:
    await unseen.crowd.all(goes_to_zero)
    await unseen.crowd.all(comes_back)
    await unseen.admits_only()
    await unseen.crowd.all(gets_another_template)
    await is_released_over_what_was_stable(unseen)


async def test_a_template_that_came_at_an_unseen_zero_is_released_over_the_stable_revision(
    unseen: Unseen,
) -> None:
    await unseen.crowd.all(goes_to_zero)
    await unseen.admits_only()
    await unseen.crowd.all(gets_another_template)
    await unseen.crowd.all(comes_back)
    await is_released_over_what_was_stable(unseen)
