"""The operator's settings, with their defaults and hard limits.

Invariant: frozen after start. A caller's limits are clamped to the maxima here, so no request can ask for more than
the pod was sized for: memory limit of the pod >= 80 MB + concurrency x (memory limit of a script + 32 MB), which
also gives the default number of scripts at a time.
"""

from dataclasses import dataclass

from luaworker.layers import Layer
from luaworker.machine import cores, memory_limit
from luaworker.wire import Limits

MEGABYTE = 1024 * 1024

SCRIPT_BYTES = 1 * MEGABYTE
OBJECT_BYTES = 8 * MEGABYTE
MODULES_BYTES = MEGABYTE // 2
MODULES = 32
NAME_CHARACTERS = 512

_OWN_MEMORY = 80 * MEGABYTE  # server, zygote and spares
_PROCESS_MEMORY = 32 * MEGABYTE  # of a child, in addition to its script's memory

_SPARES_AT_REST = 2

_MAX_WALL_MS = 10_000
_MAX = Limits(
    cpu_ms=5_000, wall_ms=_MAX_WALL_MS, memory_bytes=256 * MEGABYTE, output_bytes=8 * MEGABYTE
)
# The clock of some machines ticks every 4 ms, and a state with codec and libraries needs some memory of its own.
_MIN = Limits(cpu_ms=20, wall_ms=20, memory_bytes=16 * MEGABYTE, output_bytes=1024)


def default_concurrency(script_memory: int) -> int:
    """Three scripts per core, so that one that loops does not hold up the others; no more than memory allows."""
    wanted = max(4, 3 * cores())
    available = memory_limit()
    if available is None:
        return wanted
    return max(1, min(wanted, (available - _OWN_MEMORY) // (script_memory + _PROCESS_MEMORY)))


@dataclass(frozen=True, slots=True)
class Settings:
    """Flags of the process."""

    listen: str
    tls_dir: str = ""
    cpu_ms: int = 500
    wall_ms: int = 1_000
    max_wall_ms: int = _MAX_WALL_MS  # longer for tests of a limit by CPU time, on a busy machine
    memory_mb: int = 64
    output_bytes: int = 4 * MEGABYTE
    concurrency: int = 0
    metrics_address: str = ":8080"
    probe_address: str = ":8081"
    # Locks that are left open, for tests that open one and check which attacks succeed.
    without: frozenset[Layer] = frozenset()
    parent: int = 0  # this process ends when the process with this pid ends; 0: none
    queue_limit: int = 64
    queue_wait: float = 0.5
    # A large object takes a normal script longer: if such a call got low priority, it could starve beside busy calls.
    demote_after: float = 0.03
    demote_per_byte: float = 0.5e-6
    kill_margin: float = 0.1
    recycle_forks: int = 10_000
    recycle_seconds: float = 3_600.0
    calls_per_recycled: int = 500
    rest_after: float = 5.0  # seconds without a call; 0: never
    drain_seconds: float = 10.0

    @property
    def running(self) -> int:
        """Calls that run at the same time."""
        return self.concurrency or default_concurrency(self.limits.memory_bytes)

    @property
    def running_per_tenant(self) -> int:
        """The places that one tenant may take, with and without waiting tenants: a bad script never takes all
        places."""
        if Layer.TENANT_SHARE in self.without:
            return self.running
        return max(1, (self.running + 1) // 2)

    @property
    def running_heavy(self) -> int:
        """The places for all tenants whose calls use much CPU, together: about one for each core."""
        if Layer.TENANT_SHARE in self.without:
            return self.running
        return max(1, self.running // 3)

    @property
    def spares(self) -> int:
        """Children that wait, ready, for a call."""
        return self.running + 2

    @property
    def spares_at_rest(self) -> int:
        """Children that wait during a rest: the first calls after it find one, further calls wait for a fork."""
        return min(self.spares, _SPARES_AT_REST)

    @property
    def limits(self) -> Limits:
        """The limits of a call that asks for none."""
        return self.clamp(Limits(0, 0, 0, 0))

    def clamp(self, asked: Limits) -> Limits:
        """The limits of a call: requested or default values, within the hard limits."""
        return Limits(
            _within(asked.cpu_ms or self.cpu_ms, _MIN.cpu_ms, _MAX.cpu_ms),
            _within(asked.wall_ms or self.wall_ms, _MIN.wall_ms, self.max_wall_ms),
            _within(
                asked.memory_bytes or self.memory_mb * MEGABYTE,
                _MIN.memory_bytes,
                _MAX.memory_bytes,
            ),
            _within(asked.output_bytes or self.output_bytes, _MIN.output_bytes, _MAX.output_bytes),
        )


def _within(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)
