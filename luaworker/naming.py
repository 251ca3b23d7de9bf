"""How a script is called in messages.

The server needs this without loading the Lua engine, and child and server must agree on it, since the line of a
message is found by the name before it.
"""

NAME_BYTES = 56  # the engine's limit for a chunk's name in messages


def shown_name(name: str) -> bytes:
    """Printable, and short enough for the engine; of a longer name the end is kept."""
    text = "".join(c if c.isprintable() else "?" for c in name).encode() or b"script"
    if len(text) <= NAME_BYTES:
        return text
    tail = text[-NAME_BYTES + 3 :].decode("utf-8", "ignore")
    return b"..." + tail.encode()
