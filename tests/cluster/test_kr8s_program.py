"""A foreign program that uses kr8s and our classes for a release, over kr8s' own connections and credentials."""

import asyncio
from collections.abc import Callable
from typing import Any

import kr8s.asyncio
import pytest
from kr8s.asyncio.objects import Deployment

from controller.api.rollout import RolloutStatus
from controller.kube.objects import Rollout
from demo.stage import Product
from tests.cluster import manifests
from tests.cluster.conftest import fresh_namespace
from tests.cluster.manifests import NEW_IMAGE, Application, StepPlan

SECONDS = 120
APPROVAL = {"status": {"canaryStatus": {"currentStepState": "StepReady"}}}


async def until(rollout: Rollout, holds: Callable[[RolloutStatus], bool]) -> None:
    """Return as soon as the Rollout's watch tells a status of this kind."""
    async with asyncio.timeout(SECONDS):
        async for _, seen in rollout.api.watch(
            Rollout,
            namespace=rollout.namespace,
            field_selector={"metadata.name": rollout.name},
        ):
            if holds(Rollout(seen.raw, api=rollout.api).record.status):
                return
    pytest.fail("the watch ended")


def is_known(status: RolloutStatus) -> bool:
    """Whether the controller has seen the Rollout: a change before that is no release."""
    return status.phase == "Healthy"


def waits_at_step_one(status: RolloutStatus) -> bool:
    """Whether the first step waits for a person."""
    found = status.canary_status
    if not found:
        return False
    return (found.current_step_index, found.current_step_state) == (1, "StepPaused")


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
        await until(named, is_known)
        image = {"containers": [{"name": "main", "image": NEW_IMAGE}]}
        await deployment.patch({"spec": {"template": {"spec": image}}})
        await until(named, waits_at_step_one)
        await named.patch(APPROVAL, subresource="status")
        await named.wait("jsonpath='{.status.phase}'=Healthy", timeout=SECONDS)
        assert [one.name async for one in api.get(Rollout, namespace=namespace)] == ["shop"]
        assert named.record.status.phase == "Healthy"
        await deployment.refresh()
        assert deployment.raw.spec.template.spec.containers[0].image == NEW_IMAGE
