"""Releases under the real autoscaler of Kubernetes, whose metrics the test sets.

`docs/operations.md`, Autoscalers, says what these tests show.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from demo.stage import GATEWAY_KINDS, Product
from localcluster.api import JsonObject
from localcluster.plane import Plane
from localcluster.record import Recorder
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.kinds import AUTOSCALERS, RECORDED
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, Application, StepPlan
from tests.cluster.metrics_api import FAST, METRIC, MetricsApi, metrics_api
from tests.cluster.secrecy import kept_product
from tests.cluster.story import CONTROLLER_USER, Story, conclude
from tests.cluster.table import ALL_AT_ONCE
from tests.cluster.user_actions import UserAction
from tests.cluster.view import image_of, ready

pytestmark = pytest.mark.full

OF_ONE_POD = 100
"""The load for which the autoscaler wants one pod, in thousandths."""
STEPS = (StepPlan(1, 25), StepPlan(2, 50))
AT_ONCE = {"stabilizationWindowSeconds": 0}


@dataclass
class Scaled:
    """A product on a plane with metrics."""

    product: Product
    recorder: Recorder
    metrics: MetricsApi


@pytest.fixture(scope="module")
async def scaled(
    plane_available: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scaled]:
    """Give Moonshift on a plane whose autoscaler looks every second."""
    folder = tmp_path_factory.mktemp("scaled")
    async with Plane.start(folder / "plane", extra_flags=FAST) as plane:
        await plane.kubectl("apply", "--server-side", "-f", str(GATEWAY_KINDS))
        async with (
            metrics_api(plane, folder) as metrics,
            kept_product(plane, folder / "product") as product,
        ):
            kinds = ",".join(f"{kind.plural}.{kind.group}".rstrip(".") for kind in RECORDED)
            await plane.kubectl("get", kinds, "--all-namespaces")
            async with plane.recorder(*RECORDED) as recorder:
                yield Scaled(product, recorder, metrics)


class Autoscaled(Story):
    """A story in which the load changes, and nobody scales by hand."""

    def __init__(self, scaled: Scaled, app: Application) -> None:
        super().__init__(scaled.product.plane, scaled.recorder, app)
        self.metrics = scaled.metrics

    def load(self, pods: int) -> None:
        """The load is that of this number of pods."""
        self.metrics.load[self.app.namespace] = pods * OF_ONE_POD

    async def begin_scaled(self, metric: JsonObject) -> None:
        """Install the application with an autoscaler by this metric, and release the new image in steps of percents."""
        self.load(self.app.replicas)
        await self.install()
        scaler = manifests.autoscaler(self.app)
        scaler["spec"] |= {
            "metrics": [metric],
            "behavior": {"scaleUp": AT_ONCE, "scaleDown": AT_ONCE},
        }
        if self.app.blue_green:
            await self.amend({"spec": scaler["spec"]}, AUTOSCALERS)
        else:
            await self.create(scaler)
        await self.scaler_says(lambda status: status.get("desiredReplicas") == self.app.replicas)
        steps = [
            step.manifest(self.app.replicas) | {"replicas": f"{step.pods * 100 // 4}%"}
            for step in self.app.steps
        ]
        await self.govern(manifests.rollout(self.app, steps))
        await self.release(NEW_IMAGE)

    async def scaler_says(self, accepts: Callable[[JsonObject], bool]) -> None:
        """Wait until the autoscaler's status is as wanted."""
        await self.until(AUTOSCALERS, lambda s: accepts(s.get("status") or {}), after=self._last)

    async def is_scaled_to(self, size: int) -> None:
        """Wait until the autoscaler has given the workload this size, in one write."""
        change = await self.until(
            self.workload, lambda d: d["spec"]["replicas"] == size, after=self._last
        )
        self._last, self.size = change.resource_version, size
        self.actions.append(UserAction(self._last, "scale", size=size))
        self.expected[self.key(self.workload)]["spec"]["replicas"] = size

    def ready_pods(self) -> tuple[int, int]:
        """Old and new pods that are ready."""
        images = [image_of(pod) for pod in self.pods() if ready(pod)]
        return images.count(STABLE_IMAGE), images.count(NEW_IMAGE)

    def writes_to_the_scaler(self) -> int:
        """How often the controller wrote to the autoscaler."""
        here = self.app.namespace
        found = self.plane.audit.since(
            self._audit_mark,
            user=CONTROLLER_USER,
            where=lambda r: r.is_write and r.namespace == here and r.resource == AUTOSCALERS.plural,
        )
        return len(found)


def per_pod() -> JsonObject:
    """A metric of the whole workload, divided by the workload's own pods."""
    target = {"type": "AverageValue", "averageValue": f"{OF_ONE_POD}m"}
    return {"type": "External", "external": {"metric": {"name": METRIC}, "target": target}}


def cpu() -> JsonObject:
    """The average CPU of all pods that the workload's selector finds."""
    target = {"type": "AverageValue", "averageValue": f"{OF_ONE_POD}m"}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


@pytest.mark.parametrize("canary", [False, True], ids=["partition", "canary"])
async def test_shares_of_pods_follow_the_autoscaler_up_and_down(
    scaled: Scaled, canary: bool
) -> None:
    async with fresh_namespace(scaled.product.plane) as namespace:
        app = Application("shop", namespace, canary, STEPS, virtual_service=True)
        story = Autoscaled(scaled, app)
        await story.begin_scaled(per_pod())
        await story.reach(2)
        story.load(8)
        await story.is_scaled_to(8)
        await story.recorder.until_state(
            lambda _: story.ready_pods() == ((8, 4) if canary else (4, 4))
        )
        story.load(5)
        await story.is_scaled_to(5)
        await story.recorder.until_state(lambda _: sum(story.ready_pods()) >= 5)
        await story.approve(2)
        await conclude(story)
        assert story.writes_to_the_scaler() == 0


async def test_an_autoscaler_under_blue_green_keeps_the_size_but_not_below_its_minimum(
    scaled: Scaled,
) -> None:
    async with fresh_namespace(scaled.product.plane) as namespace:
        app = Application(
            "shop", namespace, False, ALL_AT_ONCE, virtual_service=True, blue_green=True
        )
        story = Autoscaled(scaled, app)
        await story.begin_scaled(per_pod())
        await story.reach(2)
        story.load(8)
        await story.scaler_says(
            lambda status: any(one["reason"] == "ScaleUpLimit" for one in status["conditions"])
        )
        assert story.ready_pods() == (4, 4)
        await story.amend({"spec": {"minReplicas": 6}}, AUTOSCALERS)
        story.expected[story.key(AUTOSCALERS)]["spec"]["minReplicas"] = 6
        await story.is_scaled_to(6)
        await story.recorder.until_state(lambda _: story.ready_pods() == (6, 6))
        story.load(6)
        await story.approve(2)
        await story.paused_at(3)
        await story.approve(3)
        await conclude(story)
        assert story.writes_to_the_scaler() <= 3, "held by one write, given back by two"
        story.load(8)
        await story.is_scaled_to(8)


async def test_an_autoscaler_by_the_average_of_pods_counts_the_extra_pods_of_canary_style(
    scaled: Scaled,
) -> None:
    """The known limit: six pods carry the load of six, so the workload keeps its four until the extra two are gone."""
    async with fresh_namespace(scaled.product.plane) as namespace:
        app = Application("shop", namespace, True, STEPS, virtual_service=True)
        story = Autoscaled(scaled, app)
        await story.begin_scaled(cpu())
        await story.reach(2)
        story.load(6)
        await story.scaler_says(
            lambda status: any(
                (one.get("resource") or {}).get("current", {}).get("averageValue") == "100m"
                for one in status.get("currentMetrics") or ()
            )
        )
        assert story.ready_pods() == (4, 2)
        await story.approve(2)
        await story.completed()
        await story.is_scaled_to(6)
