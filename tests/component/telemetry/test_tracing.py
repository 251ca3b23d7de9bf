"""Spans of a pass: their way to a collector, their context for the worker, and no cost without a collector."""

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path

import grpc.aio
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from controller.api.meta import Key
from controller.app.tracing import passes, traced
from controller.errors import BadConfiguration, WorkerUnavailable
from controller.scripts.lookup import Script
from controller.scripts.worker_client import ScriptClient
from controller.telemetry import tracing
from controller.telemetry.metrics import Metrics
from luaworker.tracing import trace_of
from protos.luaworker.v1 import luaworker_pb2 as pb
from protos.luaworker.v1 import luaworker_pb2_grpc as pb_grpc

ROOT = Path(__file__).parents[3]
KEY = Key("shop", "web")
SCRIPT = Script("own.lua", b"return obj", "", "configMap")


class Listening(pb_grpc.LuaExecutorServicer):
    """A worker that only records the metadata of calls."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def Execute(self, request: pb.ExecuteRequest, context: object) -> pb.ExecuteResponse:
        self.heard.append(trace_of(context.invocation_metadata()))  # type: ignore[attr-defined] # gRPC's
        return pb.ExecuteResponse(code=pb.OK, result_json=b"{}")


@pytest.fixture
async def worker(tmp_path: Path) -> AsyncIterator[tuple[Listening, ScriptClient]]:
    listening = Listening()
    server = grpc.aio.server()
    pb_grpc.add_LuaExecutorServicer_to_server(listening, server)
    server.add_insecure_port(f"unix://{tmp_path}/w")
    await server.start()
    client = ScriptClient(f"unix://{tmp_path}/w")
    yield listening, client
    await client.close()
    await server.stop(0)


async def test_a_pass_is_a_trace_whose_context_reaches_the_worker(
    worker: tuple[Listening, ScriptClient],
) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra tracing is not installed")
    from tests.component.telemetry.collector import collecting

    listening, client = worker

    async def reconcile(key: Key) -> str:
        await client.execute(SCRIPT, b"{}", tenant="shop", request_id="r")
        return key.name

    async with collecting() as collector:
        async with traced(collector.address, "replica-1"):
            assert await passes("rollout", reconcile)(KEY) == "web"
        (whole,) = collector.named("rollout pass")
        (script,) = collector.children(whole)
    assert (whole.parent, whole.service) == ("", "moonshift-controller")
    assert whole.attributes == {"k8s.namespace.name": "shop", "moonshift.name": "web"}
    assert script.name == "script"
    assert script.attributes == {"moonshift.script": "own.lua", "moonshift.script.code": "OK"}
    assert listening.heard == [whole.trace]
    assert not tracing.is_on()


async def test_a_slow_script_leads_to_its_trace_by_an_exemplar(
    worker: tuple[Listening, ScriptClient], tmp_path: Path
) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra tracing is not installed")
    from tests.component.telemetry.collector import collecting

    metrics = Metrics()
    await worker[1].close()
    client = ScriptClient(f"unix://{tmp_path}/w", metrics=metrics)

    async def reconcile(key: Key) -> None:
        await client.execute(SCRIPT, b"{}", tenant="shop", request_id="r")

    async with collecting() as collector:
        async with traced(collector.address, "replica-1"):
            await passes("rollout", reconcile)(KEY)
        await client.close()
        (whole,) = collector.named("rollout pass")
    page = metrics.render("application/openmetrics-text").body.decode()
    led = [
        sample.exemplar.labels
        for family in text_string_to_metric_families(page)  # type: ignore[no-untyped-call] # untyped there
        for sample in family.samples
        if family.name == "moonshift_script_seconds" and sample.exemplar
    ]
    assert led == [{"trace_id": whole.trace}]
    assert whole.trace not in metrics.render().body.decode()


async def test_without_a_tracer_no_duration_has_an_exemplar(
    worker: tuple[Listening, ScriptClient], tmp_path: Path
) -> None:
    metrics = Metrics()
    client = ScriptClient(f"unix://{tmp_path}/w", metrics=metrics)
    await client.execute(SCRIPT, b"{}", tenant="shop", request_id="r")
    await client.close()
    assert " # {" not in metrics.render("application/openmetrics-text").body.decode()


async def test_a_call_outside_of_a_pass_makes_no_trace(
    worker: tuple[Listening, ScriptClient],
) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra tracing is not installed")
    from tests.component.telemetry.collector import collecting

    listening, client = worker
    async with collecting() as collector, traced(collector.address, "replica-1"):
        await client.execute(SCRIPT, b"{}", tenant="shop", request_id="r")
    assert collector.spans == []
    assert listening.heard == [""]


async def test_without_a_collector_nothing_goes_along(
    worker: tuple[Listening, ScriptClient],
) -> None:
    listening, client = worker

    async def reconcile(key: Key) -> None:
        await client.execute(SCRIPT, b"{}", tenant="shop", request_id="r")

    async with traced("", "replica-1"):
        assert passes("rollout", reconcile) is reconcile
        await reconcile(KEY)
    assert listening.heard == [""]
    assert tracing.carried() is None


async def test_a_failed_pass_still_ends_its_span(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the extra tracing is not installed")
    from tests.component.telemetry.collector import collecting

    client = ScriptClient(f"unix://{tmp_path}/nobody")

    async def reconcile(key: Key) -> None:
        await client.execute(SCRIPT, b"{}", tenant="shop", request_id="r")

    async with collecting() as collector:
        async with traced(collector.address, "replica-1"):
            with pytest.raises(WorkerUnavailable):
                await passes("rollout", reconcile)(KEY)
        await client.close()
        (script,) = collector.children(collector.named("rollout pass")[0])
    assert script.attributes["moonshift.script.code"] == "UNAVAILABLE"


def test_without_a_tracer_a_span_is_nothing() -> None:
    assert isinstance(tracing.span("x"), nullcontext)
    assert tracing.span("x") is tracing.part("y")


def test_the_controller_imports_nothing_of_opentelemetry_by_default() -> None:
    text = (
        "import sys, controller.__main__; print([m for m in sys.modules if 'opentelemetry' in m])"
    )
    found = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert found.stdout.strip() == "[]"


async def test_a_missing_extra_is_reported_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "controller.telemetry.otlp", None)
    with pytest.raises(BadConfiguration, match=r"moonshift\[tracing\]"):
        async with traced("http://127.0.0.1:4317", "replica-1"):
            raise AssertionError("it began")


@pytest.mark.parametrize(
    ("sent", "trace"),
    [
        (f"00-{'a' * 32}-{'b' * 16}-01", "a" * 32),
        (f"00-{'A' * 32}-{'b' * 16}-01", ""),
        ("00-1-2-3", ""),
        ("\x1b[31m", ""),
    ],
)
def test_only_a_well_formed_trace_is_one(sent: str, trace: str) -> None:
    assert trace_of((("user-agent", "x"), ("traceparent", sent))) == trace


def test_a_call_without_metadata_has_no_trace() -> None:
    assert trace_of(None) == trace_of(()) == trace_of((("traceparent", b"x"),)) == ""
