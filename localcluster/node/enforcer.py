"""Enforces the NetworkPolicies of a node's cluster: `python -m localcluster.node.enforcer FOLDER`.

Why it exists: the network plugin of the node routes every packet and knows no policies. Invariant: the rules in the
node's network are those of the objects that were seen last; they are replaced whole, never one by one. A pod is free
until its address is known. It must not touch any network but that of the box.
"""

import asyncio
import json
import sys
from pathlib import Path

import aiohttp

from localcluster.api import ApiClient, JsonObject
from localcluster.errors import ClusterError
from localcluster.history import Kind
from localcluster.node.plane import NodePlane
from localcluster.node.policies import Objects, ruleset

POLICIES = Kind("networking.k8s.io", "v1", "networkpolicies")
PODS = Kind("", "v1", "pods")
NAMESPACES = Kind("", "v1", "namespaces")
PAUSE_SECONDS = 0.2
"""Seconds between two tries while the API server is away."""


class Enforcer:
    """Watches three kinds and writes the rules."""

    def __init__(self, node: NodePlane) -> None:
        self._node = node
        self._seen: dict[Kind, dict[str, JsonObject]] = {}
        self._changed = asyncio.Event()
        self._written = ""

    async def run(self) -> None:
        """Enforce until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kind in (POLICIES, PODS, NAMESPACES):
                group.create_task(self._watch(kind))
            group.create_task(self._write())

    async def _watch(self, kind: Kind) -> None:
        client = self._node.client()
        while True:
            try:
                listed = await client.get(kind.path)
                self._seen[kind] = {_key(one): one for one in listed["items"]}
                self._changed.set()
                await self._follow(client, kind, listed["metadata"]["resourceVersion"])
            except (aiohttp.ClientError, ClusterError, TimeoutError):
                await asyncio.sleep(PAUSE_SECONDS)

    async def _follow(self, client: ApiClient, kind: Kind, version: str) -> None:
        parameters = {"watch": "true", "resourceVersion": version}
        async with client.stream(kind.path, parameters) as lines:
            async for line in lines:
                event = json.loads(line)
                one = event["object"]
                match event["type"]:
                    case "ERROR":
                        return
                    case "DELETED":
                        self._seen[kind].pop(_key(one), None)
                    case _:
                        self._seen[kind][_key(one)] = one
                self._changed.set()

    async def _write(self) -> None:
        file = self._node.node_layout.node_folder / "policies.nft"
        while True:
            await self._changed.wait()
            self._changed.clear()
            if len(self._seen) < 3:
                # Rules made before all kinds are listed would isolate no pod, or too many.
                continue
            kinds = (list(self._seen[kind].values()) for kind in (POLICIES, PODS, NAMESPACES))
            text = ruleset(Objects(*kinds))
            if text != self._written:
                file.write_text(text)
                await self._node.inside("nft", "-f", str(file))
                self._written = text


def _key(one: JsonObject) -> str:
    metadata = one["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


async def _main(folder: Path) -> None:
    async with NodePlane.attach(folder) as node:
        await Enforcer(node).run()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1])))
