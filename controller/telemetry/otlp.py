"""Spans sent to an OpenTelemetry collector over gRPC (OTLP).

Why its own file: it imports OpenTelemetry, which the default installation does not have; only `--otlp-endpoint` loads
it. Invariant: a collector that is away, slow or wrong costs spans and nothing else: they wait in a bounded queue, and a
thread sends them. Nothing is kept in OpenTelemetry's own global state.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from controller.telemetry.tracing import Metadata

_SERVICE = "moonshift-controller"


class OtlpTracer:
    """Spans of this process; `instance` identifies the replica."""

    def __init__(self, endpoint: str, instance: str) -> None:
        """`endpoint` is http(s)://HOST:PORT; further settings are OpenTelemetry's variables `OTEL_EXPORTER_OTLP_*`."""
        resource = Resource.create({"service.name": _SERVICE, "service.instance.id": instance})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=endpoint)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("moonshift")
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, str]) -> Iterator[None]:
        """A span of this name; a child of the present one."""
        with self._tracer.start_as_current_span(name, attributes=dict(attributes)):
            yield

    def within(self) -> bool:
        """Whether a span is open."""
        return bool(trace.get_current_span().get_span_context().is_valid)

    def note(self, attribute: str, value: str) -> None:
        """Add an attribute to the present span."""
        trace.get_current_span().set_attribute(attribute, value)

    def carried(self) -> Metadata:
        """`traceparent` of the present span."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return tuple(carrier.items())

    def trace_id(self) -> str:
        """The trace of the present span, if a collector will receive it."""
        context = trace.get_current_span().get_span_context()
        recorded = context.is_valid and context.trace_flags.sampled
        return trace.format_trace_id(context.trace_id) if recorded else ""

    def end(self) -> None:
        """Send the spans that are left."""
        self._provider.shutdown()
