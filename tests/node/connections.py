"""The connections that pods try on the node, and whether each is reached.

Invariant: "reached" means that the other side took the connection, whatever the answer; "refused" means that no
connection came about. Every wait has a bound, because an enforcer hears of objects by watches.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar
from urllib.parse import quote

from localcluster.errors import RequestRefused
from localcluster.node.plane import NodePlane

SETTLE_SECONDS = 60.0
LOOK_SECONDS = 0.2
NOT_CONNECTED = ("dial tcp", "dial udp", "Client.Timeout")
"""The messages of Go's client when there is no connection."""
OF_THE_API_SERVER = (500, 503)
"""Statuses that do not come from the requested address; all others are the pod's answer, or 502 if there was none."""

PROBE = """
import json, socket, struct, sys
def tcp(host, port):
    socket.create_connection((host, port), timeout=3).close()
def udp(host, port):
    question = b"".join(bytes([len(w)]) + w for w in (b"kubernetes", b"default", b"svc", b"cluster", b"local"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(3)
        s.connect((host, port))
        s.send(struct.pack(">6H", 7, 256, 1, 0, 0, 0) + question + bytes([0]) + struct.pack(">2H", 1, 1))
        s.recv(512)
def reached(protocol, host, port):
    try:
        {"tcp": tcp, "udp": udp}[protocol](host, port)
    except OSError:
        return False
    return True
print(json.dumps({n: reached(*t) for n, t in json.loads(sys.argv[1]).items()}))
"""
"""A program for pods that have Python: targets in, reached or not out."""

Seen = TypeVar("Seen")
Target = tuple[str, str, int]
"""Protocol, address, port."""


async def reached_from(
    node: NodePlane, namespace: str, pod: str, targets: Mapping[str, Target]
) -> dict[str, bool]:
    """Return which targets a pod that has Python reaches."""
    command = ("exec", "-n", namespace, pod, "--", "python", "-c", PROBE, json.dumps(targets))
    answer: dict[str, bool] = json.loads(await node.kubectl(*command))
    return answer


async def reached(node: NodePlane, namespace: str, service: str, url: str) -> bool:
    """Whether a pod of the test's HTTP server behind `service` reaches the address of `url`."""
    path = f"/api/v1/namespaces/{namespace}/services/{service}:80/proxy/fetch?url="
    try:
        await node.client().text(path + quote(url, safe=""))
    except RequestRefused as refused:
        if refused.status in OF_THE_API_SERVER:
            raise
        return not any(words in str(refused) for words in NOT_CONNECTED)
    return True


async def settles(look: Callable[[], Awaitable[Seen]], expected: Seen) -> None:
    """Return when the result is as expected; otherwise fail with the result."""
    last: list[Seen] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SETTLE_SECONDS):
            while (seen := await look()) != expected:
                last = [seen]
                await asyncio.sleep(LOOK_SECONDS)
            return
    raise AssertionError(f"not {expected}: {last}")
