"""A script that never ends runs again and again for one Rollout; the approvals of the other Rollouts are measured."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from demo.stage import NAMESPACE
from tests.bench import objects
from tests.bench.figures import p50, p99
from tests.bench.fleet import create, healthy, wait
from tests.bench.follow import Key, View
from tests.bench.ground import Ground
from tests.bench.objects import CORE, DEPLOYMENTS, NEW_TEMPLATE, ROLLOUTS, VIRTUAL_SERVICES, Style
from tests.bench.registry import Row
from tests.bench.runs import approvals_of, approved

LIMIT = 2.0
POKE_SECONDS = 0.5
STALL_SECONDS = 60.0
CONFIGURATION = "kruise-rollout-configuration"
SCRIPT_KEY = "lua.traffic.routing.VirtualService.networking.istio.io"
SCRIPT = "while true do end"
WHERE = "hostile"


async def measure(ground: Ground) -> list[Row]:
    """Approvals of others, without and with the script."""
    style = Style.CANARY
    alone = [step.whole for step in await approved(ground, style)]
    async with _hostile(ground):
        beside = [step.whole for step in await approvals_of(ground, "neighbours", style)]
    note = (
        f"p99 {p99(alone):.2f} s alone, {p99(beside):.2f} s beside it; "
        f"p50 {p50(alone):.2f} s, {p50(beside):.2f} s"
    )
    name = "a hostile script: others' p99, approval to weight"
    ratio = p99(beside) / p99(alone)
    return [Row(name, "manager blocked or killed", LIMIT, ratio, unit="x", note=note)]


@asynccontextmanager
async def _hostile(ground: Ground) -> AsyncIterator[None]:
    """One Rollout stalled by its script, and made to try again all the time."""
    key = Key(WHERE, objects.application_name(0))
    maps = f"{CORE}/namespaces/{NAMESPACE}/configmaps"
    await ground.admin.create(
        maps, {"metadata": {"name": CONFIGURATION}, "data": {SCRIPT_KEY: SCRIPT}}
    )
    try:
        await _stalled(ground, key)
        poking = asyncio.create_task(_poke(ground, key))
        try:
            yield
        finally:
            poking.cancel()
            await asyncio.gather(poking, return_exceptions=True)
    finally:
        await ground.admin.delete(f"{ROLLOUTS}/namespaces/{WHERE}/rollouts/{key.name}")
        await ground.admin.delete(f"{maps}/{CONFIGURATION}")


async def _stalled(ground: Ground, key: Key) -> None:
    """Release one application whose Rollout uses the script."""
    await ground.admin.create(f"{CORE}/namespaces", {"metadata": {"name": key.namespace}})
    body = objects.rollout(key.name, Style.CANARY, approvals=True, script="configMap")
    for root, plural, made in (
        (DEPLOYMENTS, "deployments", objects.deployment(key.name, 5)),
        (CORE, "services", objects.service(key.name)),
        (VIRTUAL_SERVICES, "virtualservices", objects.virtual_service(key.name)),
        (ROLLOUTS, "rollouts", body),
    ):
        await create(ground, key.namespace, root, plural, made)
    await wait(ground, [key], healthy, STALL_SECONDS)
    path = f"{DEPLOYMENTS}/namespaces/{key.namespace}/deployments/{key.name}"
    await ground.developer.patch(path, NEW_TEMPLATE)
    with ground.reporter.phase("hostile: until its script is refused"):
        await wait(ground, [key], _refused, STALL_SECONDS)


async def _poke(ground: Ground, key: Key) -> None:
    """Change the Rollout all the time, so that it gets passes and tries the script again."""
    path = f"{ROLLOUTS}/namespaces/{key.namespace}/rollouts/{key.name}"
    number = 0
    while True:
        number += 1
        await ground.admin.patch(path, {"metadata": {"annotations": {"poke": str(number)}}})
        await asyncio.sleep(POKE_SECONDS)


def _refused(view: View | None) -> bool:
    return view is not None and view.status.says("Stalled")
