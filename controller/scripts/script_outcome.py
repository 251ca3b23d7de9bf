"""The outcome of a script run: the closed union that the client returns.

Invariant: a value, never an exception. A refusal is a problem that the user can solve (or a reported crash of the
engine); a worker that could not serve the call is an exception, and none of these.
"""

import msgspec


class Executed(msgspec.Struct, frozen=True):
    """The script returned a table: `result` is its JSON, lossless and with sorted keys."""

    result: bytes
    log: tuple[str, ...] = ()
    cpu_ms: float = 0.0
    wall_ms: float = 0.0
    peak_memory: int = 0


class Refused(msgspec.Struct, frozen=True):
    """The script gave no usable answer. `code` is a name of the protocol's enum; `line` is 0 if it is not known."""

    code: str
    message: str
    traceback: str = ""
    line: int = 0
    json_path: str = ""
    log: tuple[str, ...] = ()

    @property
    def plain_message(self) -> str:
        """The message without the prefix of the engine: the script's (shortened) name and the line."""
        _, found, rest = self.message.partition(f":{self.line}: ")
        return rest if found and self.line else self.message


ScriptAnswer = Executed | Refused
