"""A collector of traces in the test's process: OTLP over gRPC, by the protocol's own package."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import grpc.aio
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as pb_grpc


@dataclass(frozen=True, slots=True)
class Span:
    """A span as it arrived; identities in hexadecimal digits."""

    name: str
    trace: str
    identity: str
    parent: str
    service: str
    attributes: dict[str, str]


class Collector:
    """Stores the received spans."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.address = ""

    async def Export(self, request: Any, _context: object) -> Any:
        """The one method of the service."""
        for resource in request.resource_spans:
            service = _texts(resource.resource.attributes).get("service.name", "")
            for scope in resource.scope_spans:
                self.spans += [
                    Span(
                        name=span.name,
                        trace=span.trace_id.hex(),
                        identity=span.span_id.hex(),
                        parent=span.parent_span_id.hex(),
                        service=service,
                        attributes=_texts(span.attributes),
                    )
                    for span in scope.spans
                ]
        return pb.ExportTraceServiceResponse()

    def named(self, name: str) -> list[Span]:
        """The spans of this name."""
        return [span for span in self.spans if span.name == name]

    def children(self, of: Span) -> list[Span]:
        """The spans right below one."""
        return [s for s in self.spans if (s.trace, s.parent) == (of.trace, of.identity)]


def _texts(attributes: Any) -> dict[str, str]:
    return {one.key: one.value.string_value for one in attributes}


@contextlib.asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """A collector on a port of its own."""
    collector = Collector()
    server = grpc.aio.server()
    pb_grpc.add_TraceServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call] # generated code
    collector.address = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield collector
    finally:
        await server.stop(0)
