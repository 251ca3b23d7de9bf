"""Headers that a gate may send.

Invariant: a header of a gate says something to the server that was allowed. It never says where a message ends, how it
is encoded, which connection it is for, or to which server or page a proxy passes it on.
"""

_FRAMING = frozenset(
    {
        *("host", "content-length", "content-type", "content-encoding", "transfer-encoding"),
        *("accept-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect"),
        *("http2-settings", "via", "forwarded", "x-original-url", "x-rewrite-url"),
        *("x-http-method", "x-http-method-override", "x-method-override"),
    }
)
_BEGINNINGS = ("proxy-", "x-forwarded-", "x-envoy-", ":")


def refused_header(name: str) -> bool:
    """Whether a header would change the message, or where it goes."""
    lower = name.strip().lower()
    return lower in _FRAMING or lower.startswith(_BEGINNINGS)
