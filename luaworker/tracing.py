"""The trace that a call belongs to, from the metadata that its caller sent (W3C Trace Context).

Why: the log line of a call carries the trace's id, so a person finds the line from the trace. Invariant: a malformed
`traceparent` counts as none; a trace has no effect on a call, and the worker sends no spans.
"""

import re
from collections.abc import Iterable

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")


def trace_of(metadata: Iterable[tuple[str, str | bytes]] | None) -> str:
    """The id of the trace, 32 hexadecimal digits; empty if the caller sent none."""
    for key, value in metadata or ():
        if key == "traceparent" and isinstance(value, str):
            found = _TRACEPARENT.fullmatch(value)
            return found[1] if found is not None else ""
    return ""
