"""A foreign program that uses kr8s and our classes for a release, over kr8s' own connections and credentials."""

import asyncio
from typing import Any

import kr8s.asyncio
import pytest
from kr8s.asyncio.objects import Deployment

from controller.kube.objects import Rollout
from demo.stage import Product
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.manifests import NEW_IMAGE, Application, StepPlan

SECONDS = 120
APPROVAL = {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}


async def paused_at(rollout: Rollout, step: int) -> None:
    """Return as soon as the Rollout's watch tells that this step waits for a person."""
    async with asyncio.timeout(SECONDS):
        async for _, seen in rollout.api.watch(
            Rollout,
            namespace=rollout.namespace,
            field_selector={"metadata.name": rollout.name},
        ):
            found = Rollout(seen.raw, api=rollout.api).record.status.canary_status
            if found and (found.current_step_index, found.current_step_state) == (
                step,
                "StepPaused",
            ):
                return
    pytest.fail("the watch ended")


async def test_a_program_releases_approves_and_waits_with_our_classes_of_kr8s(
    product: Product,
) -> None:
    api: Any = await kr8s.asyncio.api(kubeconfig=str(product.plane.kubeconfig("admin")))
    async with fresh_namespace(product.plane) as namespace:
        app = Application("shop", namespace, True, (StepPlan(1), StepPlan(4)))
        deployment = Deployment(manifests.deployment(app), api=api)
        await deployment.create()
        rollout = Rollout(manifests.rollout(app), api=api)
        await rollout.create()
        await deployment.wait("condition=Available", timeout=SECONDS)
        named = await Rollout.get("shop", namespace=namespace, api=api)
        image = {"containers": [{"name": "main", "image": NEW_IMAGE}]}
        await deployment.patch({"spec": {"template": {"spec": image}}})
        await paused_at(named, 1)
        await named.patch(APPROVAL, subresource="status")
        await named.wait("jsonpath='{.status.phase}'=Healthy", timeout=SECONDS)
        assert [one.name async for one in api.get(Rollout, namespace=namespace)] == ["shop"]
        assert named.record.status.phase == "Healthy"
        await deployment.refresh()
        assert deployment.raw.spec.template.spec.containers[0].image == NEW_IMAGE
