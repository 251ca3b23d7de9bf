"""A release of real pods through a real gateway, with requests counted by the version that answered.

Why it exists: the demo shows this release and the node's tests judge it. Invariant: commands are those a person types;
each request counts once, as the version that answered or as lost. It must not print.
"""

import asyncio
from collections import Counter
from pathlib import Path

import aiohttp
import yaml

from demo.cluster import shop
from demo.commands import Commands
from localcluster.node.gateway import NodeGateway
from localcluster.node.plane import NodePlane
from localcluster.node.programs import node_programs

REQUESTS = 200
LOST = "lost"
WAIT = "--timeout=140s"
PATIENCE = aiohttp.ClientTimeout(total=10.0)
ROUTED_SECONDS = 60.0
PAUSE_SECONDS = 0.1


class Release:
    """The steps of one release, in order."""

    def __init__(self, node: NodePlane, gateway: NodeGateway, folder: Path) -> None:
        self._node = node
        self._gateway = gateway
        self._commands = Commands(node, folder)
        self._commands.install()

    async def deploy(self) -> None:
        """Apply the application and its Rollout, and wait until the first version answers through the gateway."""
        for version in (shop.OLD, shop.NEW):
            program, name = node_programs().greeter.binary, f"{shop.IMAGE}:{version}"
            await self._node.load_program(name, program, {"VERSION": version})
        await self._node.apply(yaml.safe_dump_all(shop.objects()), user="developer")
        await self._kubectl("wait", WAIT, "--for=condition=Available", f"deployment/{shop.NAME}")
        await self._kubectl("wait", WAIT, "--for=condition=Ready", f"rollout/{shop.NAME}")
        async with asyncio.timeout(ROUTED_SECONDS):
            # Envoy receives a route by itself; no object shows when.
            while await self._ask() == LOST:  # noqa: ASYNC110 - bounded, at the start only
                await asyncio.sleep(PAUSE_SECONDS)

    async def begin(self) -> None:
        """Change the image, and wait until the first step has its pods and its traffic and asks for an approval."""
        await self._kubectl(
            *("set", "image", f"deployment/{shop.NAME}", f"greeter={shop.IMAGE}:{shop.NEW}")
        )
        paused = "--for=jsonpath={.status.canaryStatus.currentStepState}=StepPaused"
        await self._kubectl("wait", WAIT, paused, f"rollout/{shop.NAME}")

    async def approve(self) -> None:
        """Approve the step, and wait until the release is over."""
        await self._commands.run(f"kubectl moonshift approve {shop.NAME}")
        await self._commands.run(f"kubectl moonshift status {shop.NAME} --timeout 2m")

    async def look(self) -> str:
        """Return the output of `kubectl moonshift get`."""
        return await self._commands.run("kubectl moonshift get")

    async def count(self, requests: int = REQUESTS) -> Counter[str]:
        """Send requests through the gateway; return how many each version answered."""
        return Counter([await self._ask() for _ in range(requests)])

    async def count_until(self, over: asyncio.Task[None]) -> Counter[str]:
        """Send requests one after the other until the task is over."""
        counted: Counter[str] = Counter()
        while not over.done():
            counted[await self._ask()] += 1
        return counted

    async def _ask(self) -> str:
        """Return the version that answered; each request has a connection of its own."""
        try:
            async with (
                aiohttp.ClientSession(timeout=PATIENCE) as session,
                session.get(self._gateway.url, headers={"Host": shop.HOST}) as answer,
            ):
                text = await answer.text()
                return text.split()[0] if answer.status == 200 else LOST
        except (aiohttp.ClientError, TimeoutError):
            return LOST

    async def _kubectl(self, *arguments: str) -> None:
        await self._node.kubectl(*arguments, user="developer")
