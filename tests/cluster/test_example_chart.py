"""The example chart with a Rollout, installed, upgraded and removed by the real Helm, on a real control plane.

Helm does not know of releases: it applies what the chart says and remembers that. A release begins with an upgrade,
survives another upgrade in its middle, and leaves the chart's objects as Helm knows them.
"""

import asyncio
from pathlib import Path

import pytest
import yaml

from demo.stage import ROOT, Product
from localcluster.build import ensure_built
from localcluster.extras import ensure_extra
from localcluster.node.programs import HELM
from localcluster.record import Recorder
from tests.cluster.kinds import DEPLOYMENTS, ROLLOUTS, SERVICES, VIRTUAL_SERVICES, path_of
from tests.cluster.manifests import Application, StepPlan
from tests.cluster.story import Story
from tests.cluster.view import image_of

pytestmark = pytest.mark.full
"""Helm is built for it."""

CHART = ROOT / "examples" / "helm" / "shop"
STEPS = (StepPlan(1, 20), StepPlan(2, 50), StepPlan(4))


class Chart:
    """The example, managed by Helm."""

    def __init__(self, helm: Path, kubeconfig: Path, namespace: str) -> None:
        self._helm = helm
        self._common = ("--namespace", namespace, "--kubeconfig", str(kubeconfig))

    async def upgrade(self, *values: str, waits: tuple[str, ...] = ()) -> None:
        """Install or upgrade."""
        sets = [f"--set={value}" for value in ("rollout.gracePeriodSeconds=1", *values)]
        await self.run("upgrade", "--install", "shop", str(CHART), *sets, *waits)

    async def run(self, *arguments: str) -> str:
        """Run Helm; return its output."""
        process = await asyncio.create_subprocess_exec(
            *(str(self._helm), *arguments, *self._common),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return output.decode()


@pytest.fixture(scope="session")
async def helm(plane_available: None) -> Path:
    """Give Helm."""
    await ensure_built()
    return (await ensure_extra(HELM)).binary


async def test_an_upgrade_begins_a_release_and_a_second_upgrade_does_not_disturb_the_release(
    helm: Path, product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    story = Story(
        product.plane,
        recorder,
        Application("shop", namespace_of_product, False, STEPS, virtual_service=True),
    )
    chart = Chart(helm, product.plane.kubeconfig(), namespace_of_product)
    await chart.upgrade()
    await story.pods_ready()
    await story.labelled()

    await chart.upgrade("image.tag=v2")
    await story.paused_at(1)
    route = await story.client.get(path_of(story.key(VIRTUAL_SERVICES)))
    shares = {
        entry["destination"]["host"]: entry["weight"] for entry in route["spec"]["http"][0]["route"]
    }
    assert shares == {"shop": 80, "shop-canary": 20}

    await chart.upgrade("image.tag=v2", "replicas=5")
    await story.approve(1)
    await story.paused_at(2)
    await story.approve(2)
    await story.completed()

    documents = yaml.safe_load_all(await chart.run("get", "manifest", "shop"))
    wanted = {body["kind"]: body["spec"] for body in documents if body}
    route = await story.client.get(path_of(story.key(VIRTUAL_SERVICES)))
    assert route["spec"] == wanted["VirtualService"]
    service = await story.client.get(path_of(story.key(SERVICES)))
    assert service["spec"]["selector"] == wanted["Service"]["selector"]
    workload = await story.client.get(path_of(story.key(DEPLOYMENTS)))
    assert image_of(workload["spec"]["template"]) == "shop:v2"
    assert workload["spec"]["replicas"] == 5

    await chart.run("uninstall", "shop")
    await story.gone(ROLLOUTS)
    await story.gone(DEPLOYMENTS)


async def test_helm_takes_a_held_deployment_for_ready_and_its_rollback_ends_the_release(
    helm: Path, product: Product, recorder: Recorder, namespace_of_product: str
) -> None:
    story = Story(
        product.plane,
        recorder,
        Application("shop", namespace_of_product, True, STEPS, virtual_service=True),
    )
    chart = Chart(helm, product.plane.kubeconfig(), namespace_of_product)
    style = "rollout.extraDeployment=true"
    await chart.upgrade(style)
    await story.pods_ready()
    await story.labelled()

    # Helm's exit code is 0: it did not wait for the end of the release, and rolled nothing back.
    await chart.upgrade(style, "image.tag=v2", waits=("--atomic", "--timeout=300s"))
    await story.paused_at(1)

    await chart.run("rollback", "shop", "1")
    await story.completed()
    await story.event("ReleaseCanceled")
    workload = await story.client.get(path_of(story.key(DEPLOYMENTS)))
    assert image_of(workload["spec"]["template"]) == "shop:v1"
    await chart.run("uninstall", "shop")
    await story.gone(ROLLOUTS)


async def test_without_a_rollout_the_chart_is_an_ordinary_chart(
    helm: Path, product: Product, namespace_of_product: str
) -> None:
    chart = Chart(helm, product.plane.kubeconfig(), namespace_of_product)
    rendered = await chart.run("template", "shop", str(CHART), "--set=rollout.enabled=false")
    kinds = {body["kind"] for body in yaml.safe_load_all(rendered) if body}
    assert kinds == {"Deployment", "Service", "VirtualService"}
    await chart.run("lint", "--strict", str(CHART))
