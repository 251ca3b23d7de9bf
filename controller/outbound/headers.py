"""Headers that a gate may send.

Invariant: a header of a gate says something to the server that was allowed. It never says where a message ends, how it
is encoded, which connection it is for, or to which server or page a proxy passes it on; and it never is the proof of
good will that metadata services of clouds ask for. A name that is no name could hold a header of its own.
"""

import re

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")

_FRAMING = frozenset(
    {
        *("host", "content-length", "content-type", "content-encoding", "transfer-encoding"),
        *("accept-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect"),
        *("http2-settings", "via", "forwarded", "x-original-url", "x-rewrite-url"),
        *("x-http-method", "x-http-method-override", "x-method-override"),
        *("x-host", "x-original-host", "x-http-host-override", "x-http-destinationurl"),
        *("metadata", "metadata-flavor", "x-google-metadata-request", "x-identity-header"),
    }
)
_BEGINNINGS = ("proxy-", "x-forwarded-", "x-envoy-", "x-aws-ec2-metadata-", "x-metadata-")


def refused_header(name: str) -> bool:
    """Whether a header would change the message, or where it goes."""
    # Servers that pass headers on as variables take both for the same.
    lower = name.lower().replace("_", "-")
    refused = lower in _FRAMING or lower.startswith(_BEGINNINGS)
    return refused or _NAME.fullmatch(name) is None
