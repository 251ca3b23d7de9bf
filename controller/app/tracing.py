"""The tracer of this process, if tracing was asked for.

Invariant: without `--otlp-endpoint` (or OTEL_EXPORTER_OTLP_ENDPOINT) nothing of OpenTelemetry is imported.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from controller.api.meta import Key
from controller.errors import BadConfiguration
from controller.telemetry import tracing
from controller.telemetry.tracing import Tracer

_R = TypeVar("_R")


@contextlib.asynccontextmanager
async def traced(endpoint: str, instance: str) -> AsyncIterator[None]:
    """Within the block, spans are sent to `endpoint`; without one there are no spans. Raises BadConfiguration."""
    if not endpoint:
        yield
        return
    tracer = await asyncio.to_thread(_tracer, endpoint, instance)
    tracing.use(tracer)
    try:
        yield
    finally:
        tracing.use(None)
        await asyncio.to_thread(tracer.end)


def _tracer(endpoint: str, instance: str) -> Tracer:
    try:
        from controller.telemetry.otlp import OtlpTracer
    except ImportError as missing:
        raise BadConfiguration(
            f"--otlp-endpoint needs the extra tracing, and {missing.name or missing} is not installed: "
            "pip install 'moonshift[tracing]'"
        ) from missing
    return OtlpTracer(endpoint, instance)


def passes(kind: str, reconcile: Callable[[Key], Awaitable[_R]]) -> Callable[[Key], Awaitable[_R]]:
    """`reconcile` with a span around each pass; `reconcile` itself without tracing."""
    if not tracing.is_on():
        return reconcile

    async def spanned(key: Key) -> _R:
        with tracing.span(
            f"{kind} pass", **{"k8s.namespace.name": key.namespace, "moonshift.name": key.name}
        ):
            return await reconcile(key)

    return spanned
