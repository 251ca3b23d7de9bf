"""The worker's figures for Prometheus.

Invariant: every label is from a fixed, small set; no script, tenant, object or message is ever a label. The
registry is our own, so that two workers in one test process do not meet.
"""

import os
from collections.abc import Callable
from signal import Signals

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

from luaworker.call_outcome import Outcome
from luaworker.codes import Code
from luaworker.fairness import FairQueue
from luaworker.layers import Layer

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_BYTES = (1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26)
_PROVEN = {
    "seccomp": Layer.SECCOMP,
    "rlimit": Layer.ADDRESS_SPACE,
    "cpu": Layer.CPU_TIMER,
    "wall": Layer.WALL_TIMER,
}


class Metrics:
    """All series of one worker."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._calls = self._counter("lua_exec", "Calls by outcome", "code", "backend")
        self._seconds = Histogram(
            "lua_exec_seconds",
            "Seconds of a call, by phase: queue, wall, cpu",
            ["phase"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        # Looked up once: each call observes all three.
        self._queue_seconds = self._seconds.labels("queue")
        self._wall_seconds = self._seconds.labels("wall")
        self._cpu_seconds = self._seconds.labels("cpu")
        self._lua_bytes = self._histogram("lua_exec_lua_bytes", "Bytes a Lua state held at the end")
        self._output_bytes = self._histogram("lua_exec_output_bytes", "Bytes of a result")
        self._troubles = self._counter(
            "lua_exec_troubles", "Calls that got no outcome, by kind of trouble", "trouble"
        )
        self._ends = self._counter("lua_child_exits", "Ends of children", "how")
        self._kills = self._counter("lua_child_kills", "Children killed by their parent", "reason")
        self.zygote_restarts = self._counter("lua_zygote_restarts", "Zygotes lost and replaced")
        self.zygote_starts = self._counter("lua_zygote_starts", "Zygotes that passed the self-test")
        self.demotions = self._counter(
            "lua_demotions", "Calls that got a low priority because of their CPU time"
        )
        self._selftest = Gauge(
            "lua_sandbox_selftest",
            "Locks proven at start (landlock: version of the interface, 0 without)",
            ["lock"],
            registry=self.registry,
        )
        self.recycled = self._counter(
            "lua_recycled_calls", "Calls served by a child that had served before"
        )
        self._define_pool()

    def _define_pool(self) -> None:
        self._ready = self._gauge("lua_pool_ready", "Children that wait for a call")
        self._running = self._gauge("lua_pool_running", "Calls that run")
        self._waiting = self._gauge("lua_pool_waiting", "Calls that wait for a place")
        self._open_circuits = self._gauge(
            "lua_circuits_open",
            "Scripts that are not run for a while because they failed repeatedly",
        )
        self.spawn_seconds = Histogram(
            "lua_pool_spawn_seconds",
            "Seconds from asking for a child to having it",
            buckets=_SECONDS,
            registry=self.registry,
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self.registry)

    def _histogram(self, name: str, text: str) -> Histogram:
        return Histogram(name, text, buckets=_BYTES, registry=self.registry)

    def call_ended(self, outcome: Outcome, backend: str, waited: float, wall: float) -> None:
        """One outcome."""
        self._calls.labels(outcome.code.name, backend).inc()
        self._queue_seconds.observe(waited)
        self._wall_seconds.observe(wall)
        self._cpu_seconds.observe(outcome.cpu_ms / 1000)
        self._lua_bytes.observe(outcome.memory)
        self._output_bytes.observe(len(outcome.result))

    def call_answered(self, code: Code, backend: str) -> None:
        """An answer for which no child was needed."""
        self._calls.labels(code.name, backend).inc()

    def call_failed(self, trouble: Exception) -> None:
        """One call that ended with a failure of the service."""
        self._troubles.labels(type(trouble).__name__).inc()

    def child_ended(self, status: int) -> None:
        """A raw wait status."""
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            known = number in Signals._value2member_map_
            how = Signals(number).name if known else "signal"
        else:
            how = f"exit{min(os.WEXITSTATUS(status), 255)}"
        self._ends.labels(how).inc()

    def child_killed(self, reason: str) -> None:
        """A child that was stopped rather than finished."""
        self._kills.labels(reason if reason in ("wall", "garbled") else "other").inc()

    def proven(self, layers: tuple[Layer, ...], landlock: int) -> None:
        """The result of the self-test."""
        for lock, layer in _PROVEN.items():
            self._selftest.labels(lock).set(layer in layers)
        self._selftest.labels("landlock_abi").set(landlock)

    def watch_pool(self, spares: Callable[[], int], queue: FairQueue) -> None:
        """Set the source of the pool's state, which is read for each scrape."""
        self._ready.set_function(lambda: float(spares()))
        self._running.set_function(lambda: float(queue.running))
        self._waiting.set_function(lambda: float(queue.waiting))

    def watch_circuits(self, opened: Callable[[], int]) -> None:
        """Set the source of the number of refused scripts, which is read for each scrape."""
        self._open_circuits.set_function(lambda: float(opened()))

    def render(self) -> bytes:
        """The text format."""
        return generate_latest(self.registry)
