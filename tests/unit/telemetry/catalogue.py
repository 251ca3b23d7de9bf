"""docs/metrics.md: every metric of both processes, from the code that defines them.

`make generate` writes it (`python -m tests.unit.telemetry.catalogue`); a test compares, and another one compares the
names with the pages of a running controller and worker.
"""

from pathlib import Path
from typing import NamedTuple, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.registry import Collector

from controller.telemetry.metrics import Metrics
from controller.telemetry.state.collector import StateCollector
from controller.telemetry.state.gauge import StateGauge
from controller.telemetry.state.rollouts import ROLLOUTS
from controller.telemetry.state.routings import ROUTINGS
from luaworker.metrics import Metrics as WorkerMetrics

DOCUMENT = Path(__file__).parents[3] / "docs" / "metrics.md"
BEGIN, END = "<!-- metrics: generated -->\n", "<!-- end -->\n"
S = TypeVar("S")
_TYPES = {"unknown": "gauge"}


class Entry(NamedTuple):
    """One metric as a page shows it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str

    @property
    def sample(self) -> str:
        """The name that queries use; a histogram has three."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


def of_controller() -> list[Entry]:
    """Counters and histograms of every replica, gauges of the leader."""
    return _registered(Metrics().registry)


def of_worker() -> list[Entry]:
    return _registered(WorkerMetrics().registry)


def of_state() -> list[Entry]:
    """Gauges that only the leader exports."""
    rollouts = [_of_gauge("rollout", gauge) for gauge in ROLLOUTS]
    return rollouts + [_of_gauge("trafficrouting", gauge) for gauge in ROUTINGS]


def _of_gauge(kind: str, gauge: StateGauge[S]) -> Entry:
    return Entry(gauge.name, "gauge", ("namespace", kind, *gauge.labels), gauge.text)


def _registered(registry: CollectorRegistry) -> list[Entry]:
    collectors = [c for c in registry._collector_to_names if not isinstance(c, StateCollector)]
    return sorted(entry for collector in collectors for entry in _entries(collector))


def _entries(collector: Collector) -> list[Entry]:
    labels = tuple(getattr(collector, "_labelnames", ()))
    return [
        Entry(family.name, _TYPES.get(family.type, family.type), labels, family.documentation)
        for family in collector.collect()
    ]


def table(entries: list[Entry]) -> str:
    rows = [
        f"| `{one.sample}` | {one.kind} | {', '.join(one.labels)} | {one.text} |" for one in entries
    ]
    return "\n".join(["| name | type | labels | meaning |", "|---|---|---|---|", *rows, ""])


def generated() -> str:
    """The text between the marks."""
    return "\n".join(
        [
            "## The state of releases: the leader's page\n",
            table(of_state()),
            "## What the controller counts: the page of each replica\n",
            table(of_controller()),
            "## The script worker\n",
            table(of_worker()),
        ]
    )


def renewed(text: str) -> str:
    """The document with its tables made again."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}{generated()}{END}{tail}"


if __name__ == "__main__":
    DOCUMENT.write_text(renewed(DOCUMENT.read_text()))
