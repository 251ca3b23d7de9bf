"""Spans of the work of a pass: access to a tracer, which exists only if tracing was asked for.

Why the process keeps the tracer, and no constructor takes it: like a log, a trace is about the process, and a client of
the API server or of the worker must not be built differently for it. Invariant: without a tracer nothing of
OpenTelemetry is imported, a span is one comparison, and no metadata is sent. Names of spans are few; names of objects
are attributes.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Metadata = Sequence[tuple[str, str]]


class Tracer(Protocol):
    """Makes spans; the present one is the parent of the next."""

    def span(self, name: str, attributes: Mapping[str, str]) -> AbstractContextManager[object]:
        """A span that lasts as long as the block; an exception that leaves the block marks it as failed."""
        ...

    def within(self) -> bool:
        """Whether a span is open."""
        ...

    def note(self, attribute: str, value: str) -> None:
        """Add an attribute to the present span."""
        ...

    def carried(self) -> Metadata:
        """The present span, as metadata for the process that is called."""
        ...

    def trace_id(self) -> str:
        """The trace of the present span, 32 hexadecimal digits; empty if there is none, or it is not recorded."""
        ...

    def end(self) -> None:
        """Send the spans that are not sent yet; blocking, a few seconds at most."""
        ...


_NO_SPAN = nullcontext()
_tracer: Tracer | None = None


def use(tracer: Tracer | None) -> None:
    """Send spans to this tracer from now on; None: send none."""
    global _tracer
    _tracer = tracer


def is_on() -> bool:
    """Whether spans are made at all."""
    return _tracer is not None


def span(name: str, **attributes: str) -> AbstractContextManager[object]:
    """A span with attributes, the first of a trace; nothing without a tracer."""
    return _NO_SPAN if _tracer is None else _tracer.span(name, attributes)


def part(name: str, **attributes: str) -> AbstractContextManager[object]:
    """A span within the present span; nothing if there is none (the Lease is renewed outside of passes)."""
    if _tracer is None or not _tracer.within():
        return _NO_SPAN
    return _tracer.span(name, attributes)


def note(attribute: str, value: str) -> None:
    """Add an attribute to the present span; nothing without a tracer."""
    if _tracer is not None:
        _tracer.note(attribute, value)


def exemplar() -> dict[str, str] | None:
    """The label that leads from a measured duration to its trace (OpenMetrics); None if no trace exists."""
    trace_id = "" if _tracer is None else _tracer.trace_id()
    return {"trace_id": trace_id} if trace_id else None


def carried() -> Metadata | None:
    """Metadata of a call to another process; None without a tracer."""
    return None if _tracer is None else _tracer.carried()
