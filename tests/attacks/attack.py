"""An attack as data: a script, its required outcome, and the lock that stops it."""

from dataclasses import dataclass, field
from enum import StrEnum

from luaworker.layers import Layer
from protos.luaworker.v1 import luaworker_pb2 as pb

MEGABYTE = 1024 * 1024


class Category(StrEnum):
    """The aim of the script."""

    ESCAPE = "escape"
    CONTAMINATION = "contamination"
    CPU = "cpu"
    MEMORY = "memory"
    CRASH = "crash"
    RESULT = "bad result"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of an attack's call: short on CPU, so that the corpus is quick; long on the wall, for busy machines."""

    cpu_ms: int = 100
    wall_ms: int = 10_000
    memory_bytes: int = 32 * MEGABYTE
    output_bytes: int = MEGABYTE

    def message(self) -> pb.Limits:
        """As the protocol says it."""
        return pb.Limits(
            cpu_ms=self.cpu_ms,
            wall_ms=self.wall_ms,
            memory_bytes=self.memory_bytes,
            max_output_bytes=self.output_bytes,
        )


@dataclass(frozen=True, slots=True)
class Attack:
    """One script. All its expectations have to hold."""

    name: str
    script: str | bytes
    codes: tuple[str, ...]  # one of these has to be the outcome
    layer: Layer  # the layer that stops it
    # Locks that are taken to be broken already, so that the attack meets its own.
    without: frozenset[Layer] = frozenset()
    says: str = ""  # has to be part of the message
    ends: str = ""  # has to be the end of the message
    line: int = 0  # has to be the line that is named
    result: bytes | None = None  # has to be the result
    obj: bytes = b"{}"
    modules: tuple[tuple[str, str], ...] = ()  # names and texts that travel along
    bounds: Bounds = field(default_factory=Bounds)
    times: int = 1  # one after the other; the last outcome counts
    at_once: int = (
        0  # this many more copies run, for the same tenant, while the canary has to be served
    )
    # With only its lock open, the attack succeeds: this proves that the lock is needed.
    witness: bool = False

    @property
    def source(self) -> bytes:
        """The script's bytes."""
        return self.script if isinstance(self.script, bytes) else self.script.encode()


def broken(*layers: Layer) -> frozenset[Layer]:
    """Locks that an attack is taken to have opened."""
    return frozenset(layers)
