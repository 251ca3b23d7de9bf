"""Reviews that any client of the webhook's port may send: too large, or forged. Used by tests and by the bench."""

import asyncio
import io
import itertools
import json
import ssl
from typing import Any

import aiohttp

DEPLOYMENTS = "/mutate-apps-v1-deployment"
ROLLOUTS = "/validate-rollouts-kruise-io-rollout"
JSON = {"Content-Type": "application/json"}


def review(new: object, old: object) -> dict[str, Any]:
    """A review of an update, honest or not."""
    request = {
        "uid": "r",
        "operation": "UPDATE",
        "namespace": "shop",
        "object": new,
        "oldObject": old,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def filled(size: int, filling: str) -> bytes:
    """A review of about `size` bytes whose objects are `filling`, again and again."""
    half = ",".join(itertools.repeat(filling, size // 2 // (len(filling) + 1)))
    body = json.dumps(review("NEW", "OLD"))
    forged = '{"metadata":{"labels":{"rollouts.kruise.io/workload-type":"deployment"}},"spec":{"a":[%s]}}'
    return body.replace('"NEW"', forged % half).replace('"OLD"', forged % half).encode()


FLOOD = {
    "15 MiB of lists": filled(15 << 20, "[]"),
    "6 MiB of lists": filled(6_000_000, "[]"),
    "6 MiB of objects": filled(6_000_000, '{"a":{}}'),
    "6 MiB of text": filled(6_000_000, '"' + "x" * 100_000 + '"'),
    "200 KiB of lists": filled(200_000, "[]"),
}


def connected(most: int = 100) -> aiohttp.ClientSession:
    """A pod that has no certificate and verifies none; with this many connections at most (0: no limit)."""
    blind = ssl.create_default_context()
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=blind, limit=most))


async def flood(port: int, first: int, over: asyncio.Event) -> set[int]:
    """Ask again and again on one connection, from the body at `first` on; the answers that were seen."""
    every = tuple(FLOOD.values())
    bodies = (*every[first:], *every[:first])
    seen: set[int] = set()
    async with connected() as session:
        paths = (DEPLOYMENTS, ROLLOUTS, "/convert")
        for body, path in itertools.cycle(itertools.product(bodies, paths)):
            if over.is_set():
                return seen
            try:
                url = f"https://127.0.0.1:{port}{path}"
                async with session.post(url, data=io.BytesIO(body), headers=JSON) as answer:
                    assert await answer.text()
                    seen.add(answer.status)
            except (aiohttp.ClientError, ConnectionError):
                seen.add(0)
    return seen
