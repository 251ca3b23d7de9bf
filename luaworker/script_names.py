"""The name of a script in messages.

The server needs this without loading the Lua engine, and child and server must agree on it, since the line of a
message is found by the name before it.
"""

NAME_BYTES = 56  # the engine's limit for a chunk's name in messages


def shown_name(name: str) -> bytes:
    """The name, printable and short enough for the engine; a longer name is cut at its beginning."""
    text = "".join(c if c.isprintable() else "?" for c in name).encode() or b"script"
    if len(text) <= NAME_BYTES:
        return text
    tail = text[-NAME_BYTES + 3 :].decode("utf-8", "ignore")
    return b"..." + tail.encode()
