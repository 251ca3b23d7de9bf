"""Follows one kind for a program that needs its newest state and may hear of it twice.

Why it exists: the pods' server lives in a process of its own and keeps no history. Invariant: after an interruption
all present objects are reported again; objects that vanished meanwhile are reported as deleted. It must not write.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import yaml

from localcluster.api import ApiClient, JsonObject
from localcluster.errors import RequestRefused

RETRY_SECONDS = 0.05


class _Line(msgspec.Struct):
    type: str
    object: JsonObject


_LINE = msgspec.json.Decoder(_Line)


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[ApiClient]:
    """Open a client for the user of a kubeconfig that this package wrote."""
    config = yaml.safe_load(await asyncio.to_thread(kubeconfig.read_text))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    async with ApiClient(cluster["server"], authority, user["token"]) as client:
        yield client


async def watched(client: ApiClient, path: str) -> AsyncIterator[tuple[str, JsonObject]]:
    """Yield ADDED, MODIFIED and DELETED with the object, for ever."""
    known: dict[str, JsonObject] = {}
    while True:
        try:
            body = await client.get(path)
            listed = {item["metadata"]["uid"]: item for item in body["items"]}
            for uid in known.keys() - listed.keys():
                yield "DELETED", known[uid]
            for item in listed.values():
                yield "ADDED", item
            known = listed
            revision = str(body["metadata"]["resourceVersion"])
            async with client.stream(path, {"watch": "true", "resourceVersion": revision}) as lines:
                async for line in lines:
                    event = _LINE.decode(line)
                    if event.type == "ERROR":
                        break
                    uid = event.object["metadata"]["uid"]
                    if event.type == "DELETED":
                        known.pop(uid, None)
                    else:
                        known[uid] = event.object
                    yield event.type, event.object
        except (aiohttp.ClientError, TimeoutError, RequestRefused):
            pass
        await asyncio.sleep(RETRY_SECONDS)
