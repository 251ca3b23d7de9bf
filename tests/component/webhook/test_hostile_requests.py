"""All bytes that arrive on the port get an HTTP answer with a message, and the server continues."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from controller.runtime.clock import SystemClock
from controller.webhook.admission import Admission
from controller.webhook.connections import ConnectionLimits
from controller.webhook.intake import LARGEST_REVIEW, BodyLimits
from controller.webhook.server import serving, webhook_app
from tests.component.webhook.no_metrics import NoMetrics
from tests.component.webhook.served import Reads

PATHS = (
    "/validate-rollouts-kruise-io-rollout",
    "/validate-rollouts-kruise-io-trafficrouting",
    "/mutate-rollouts-status",
    "/mutate-apps-v1-deployment",
    "/mutate-v1-service",
    "/mutate-unified-workload",
    "/convert",
)
FEW = ConnectionLimits(
    most=6, per_address=4, head_seconds=0.2, idle_seconds=0.05, look_seconds=0.02
)


class Answered:
    """One HTTP answer: its status and its text."""

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        first, *self.headers = head.decode("latin-1").lower().split("\r\n")
        assert first.startswith("http/1."), raw[:200]
        self.status = int(first.split()[1])


@contextlib.asynccontextmanager
async def listening(
    connections: ConnectionLimits | None = None, bodies: BodyLimits | None = None
) -> AsyncIterator[int]:
    """Serve in this process, without TLS."""
    reads = Reads()
    admission = Admission(reads, reads, SystemClock(), is_own=lambda *who: False)
    app = webhook_app(admission.handlers(), NoMetrics(), bodies)
    async with serving(app, "127.0.0.1", 0, None, connections) as port:
        yield port


async def answer_to(port: int, raw: bytes) -> Answered:
    """The server's answer to some bytes. The test closes the connection if the server keeps it open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        with contextlib.suppress(ConnectionError):
            writer.write(raw)
            await writer.drain()
        async with asyncio.timeout(60):
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").lower().split("\r\n")
            length = next(int(line[15:]) for line in lines if line.startswith("content-length:"))
            return Answered(head + await reader.readexactly(length))
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def posted(path: str, body: bytes, *headers: str) -> bytes:
    """A POST of a JSON body."""
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    if not any(header.startswith("Content-Type") for header in headers):
        lines.append("Content-Type: application/json")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def nested(depth: int, where: str = "object") -> bytes:
    """A review with lists in lists."""
    inner = b"[" * depth + b"]" * depth
    forged = b'{"metadata":{"annotations":{"a":' + inner + b'}},"spec":{"template":' + inner + b"}}"
    return b'{"request":{"uid":"u","operation":"UPDATE","' + where.encode() + b'":' + forged + b"}}"


def reviewing(obj: object, **more: object) -> bytes:
    """A review, and a conversion in the same breath."""
    request = {
        "uid": "u",
        "operation": "UPDATE",
        "object": obj,
        "oldObject": obj,
        "objects": [obj],
        "desiredAPIVersion": "rollouts.kruise.io/v1alpha1",
        **more,
    }
    return json.dumps({"request": request}).encode()


BODIES = {
    "nothing": b"",
    "half a review": b'{"request": {"uid": "u", "object": {"spec": ',
    "no object": b"[1, 2]",
    "lists in lists": nested(10_000),
    "lists in lists of an unknown field": nested(10_000, "else"),
    "lists as deep as Python": nested(900),
    "an integer of 5 000 digits": b'{"request":{"uid":"u","object":{"spec":{"n":%s}}}}'
    % (b"9" * 5000),
    "a number too large for a float": b'{"request":{"uid":"u","object":{"spec":{"n":1e999}}}}',
    "bytes that are no UTF-8": b'{"request":{"uid":"u","object":{"spec":{"n":"\xff\xfe"}}}}',
    "half a character": b'{"request":{"uid":"u","object":{"spec":{"n":"\\ud800"}}}}',
    "the same key twice": b'{"request":{"uid":"u","uid":"v","object":{"spec":1,"spec":{}}}}',
    "an object that is a list": reviewing([]),
    "metadata that is a number": reviewing({"metadata": 3, "spec": []}),
    "labels that are a list": reviewing({"metadata": {"labels": [1], "annotations": "x"}}),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", BODIES)
async def test_a_body_that_is_no_review_is_answered_in_words(name: str, path: str) -> None:
    body = BODIES[name].replace(b'"uid":"u",', b'"uid":"u","operation":"UPDATE","oldObject":{},')
    async with listening() as port:
        answer = await answer_to(port, posted(path, body))
        assert answer.status in (200, 400), answer.body
        assert answer.body
        assert (await answer_to(port, b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")).status == 200


UNREAD = {
    "nested too deeply for a review": b"[" * 2000 + b"]" * 2000,
    "nested too deeply for a tree": b"[" * 1100 + b"]" * 1100,
    "no JSON": b'"\xff\xfe"',
    "too many values": b"[" + b"1," * 60_000 + b"1]",
}


@pytest.mark.parametrize("name", UNREAD)
async def test_a_status_that_cannot_be_read_is_refused_and_not_ignored(name: str) -> None:
    """An API server ignores a fault of this webhook, and would store what the request contains."""
    head = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1",'
    rest = (
        b'"subResource":"status","operation":"UPDATE","oldObject":{"status":{}},'
        b'"object":{"status":{"moonshift":{"approvals":[{"by":"the boss"}],"x":%s}}}}}'
    )
    async with listening() as port:
        answer = await answer_to(
            port, posted("/mutate-rollouts-status", head + rest % UNREAD[name])
        )
    assert answer.status == 200
    review = json.loads(answer.body)
    assert (review["apiVersion"], review["response"]["uid"]) == ("admission.k8s.io/v1", "u-1")
    assert review["response"]["allowed"] is False
    assert review["response"]["status"]["message"]


CHUNKED = (
    b"POST /convert HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
REQUESTS = {
    "another method": (b"GET /convert HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    "another path": (posted("/else", b"{}"), 404),
    "HTTP/1.0": (
        b"POST /convert HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        400,
    ),
    "chunks": (CHUNKED + b"2\r\n{}\r\n0\r\n\r\n", 400),
    "broken chunks": (CHUNKED + b"zz\r\n{}\r\n", 400),
    "a form": (posted("/convert", b"{}", "Content-Type: application/x-www-form-urlencoded"), 415),
    "a packed body": (posted("/convert", b"{}", "Content-Encoding: gzip"), 415),
    "no HTTP": (b"\x16\x03\x01 hello\r\n\r\n", 400),
    "a header without end": (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", 400),
    "a body too large to be announced": (
        b"POST /convert HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n{" % (LARGEST_REVIEW + 1),
        413,
    ),
    "a length that is none": (
        b"POST /convert HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        400,
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_request_that_is_none_is_answered_in_words(name: str) -> None:
    raw, status = REQUESTS[name]
    async with listening() as port:
        answer = await answer_to(port, raw)
        assert answer.status == status, answer.body
        assert answer.body


async def test_the_declared_size_of_chunks_is_not_trusted() -> None:
    """Nothing was announced; the answer comes when the bound is passed."""
    megabyte = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
    async with listening() as port:
        assert (await answer_to(port, CHUNKED + 7 * megabyte)).status == 413


async def test_over_the_budget_the_client_has_to_repeat_its_request() -> None:
    """kube-apiserver repeats the request by itself, after the time in the answer."""
    async with listening(bodies=BodyLimits(small_bytes=10)) as port:
        answer = await answer_to(port, posted("/convert", b'{"request":{"uid":"u"}}'))
        assert answer.status == 503
        assert "retry-after: 1" in answer.headers
        assert b"ask again" in answer.body
        small = await answer_to(port, posted("/convert", b"{}"))
        assert small.status == 400  # a refused request does not count against others


async def test_the_room_of_a_body_is_there_for_the_next_one() -> None:
    body = b'{"request":{"uid":"u"}}'
    async with listening(bodies=BodyLimits(small_bytes=len(body))) as port:
        for _ in range(3):
            assert (await answer_to(port, posted("/convert", body))).status == 200


async def test_a_body_that_does_not_come_is_given_up() -> None:
    async with listening(bodies=BodyLimits(seconds=0.05)) as port:
        answer = await answer_to(port, posted("/convert", b"{}")[:-1])
        assert answer.status == 408
        assert b"did not arrive" in answer.body


class Left(NoMetrics):
    """Says when the request of a client that left is over."""

    def __init__(self) -> None:
        self.over = asyncio.Event()

    def admitted(self, webhook: str, allowed: bool, seconds: float) -> None:
        self.over.set()


async def test_a_client_that_leaves_in_the_middle_of_its_body_is_no_fault_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    left = Left()
    async with serving(webhook_app({}, left), "127.0.0.1", 0, None) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(posted("/convert", b"{}")[:-1])
        await writer.drain()
        writer.transport.abort()
        async with asyncio.timeout(60):
            await left.over.wait()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


# --- connections --------------------------------------------------------------------------------


async def closed(reader: asyncio.StreamReader) -> bool:
    """The server has closed the connection."""
    try:
        async with asyncio.timeout(60):
            return await reader.read(1) == b""
    except ConnectionError:
        return True


async def test_headers_that_drip_are_given_up() -> None:
    async with listening(FEW) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /convert HTTP/1.1\r\nHost: ")
        assert await closed(reader)
        writer.close()


async def test_an_idle_connection_makes_room_for_a_new_one() -> None:
    async with listening(FEW) as port:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        assert (await answer_to(port, b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")).status == 200
        assert await closed(idle[0][0])
        for _, writer in idle:
            writer.close()


async def test_busy_connections_are_not_closed_for_a_new_one() -> None:
    patient = msgspec.structs.replace(FEW, head_seconds=5.0, waiting_seconds=0.2)
    async with listening(patient) as port:
        busy = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        for _, writer in busy:
            writer.write(posted("/convert", b"{}")[:-1])
        for _, writer in busy:
            await writer.drain()
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            while True:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                refused = await closed(reader)
                writer.close()
                if refused:
                    break
        for reader, writer in busy:
            writer.write(b"}")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 400")
            writer.close()


# --- anything -----------------------------------------------------------------------------------

KEYS = st.sampled_from(
    ["metadata", "spec", "status", "labels", "annotations", "strategy", "canary", "steps", "x"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    obj=ANYTHING,
    kind=st.sampled_from(["Rollout", "Deployment", "StatefulSet", "x", 3]),
    version=st.sampled_from(
        ["rollouts.kruise.io/v1beta1", "rollouts.kruise.io/v1alpha1", "apps/v1", None]
    ),
    cut=st.integers(0, 400),
)
@example(
    obj={"spec": {"strategy": {"canary": {"steps": [3]}}}}, kind="Rollout", version=None, cut=0
)
def test_any_json_and_any_truncated_json_is_answered(
    obj: Any, kind: Any, version: Any, cut: int
) -> None:
    if isinstance(obj, dict):
        obj = {**obj, "kind": kind, "apiVersion": version}
    body = reviewing(obj)

    async def tried() -> None:
        async with listening() as port:
            for path in PATHS:
                for part in (body, body[: max(0, len(body) - cut)]):
                    answer = await answer_to(port, posted(path, part))
                    assert answer.status in (200, 400), (path, answer.body)
                    assert b"Traceback" not in answer.body

    asyncio.run(tried())
