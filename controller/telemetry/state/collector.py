"""The collector of the state: reads the leader's caches, and gives Prometheus their gauges.

Invariant: it only reads; a process that does not lead has no samples. The caches are copied on the event loop (a few
dictionaries), and turned into samples in the thread that calls `collect`. A copy lives as long as its page is made:
else all objects of the last scrape would stay in memory beside those that replaced them.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from controller.api.meta import ObjectMeta
from controller.api.rollout import Rollout
from controller.api.trafficrouting import TrafficRouting
from controller.api.workloads import Deployment, Pod, ReplicaSet
from controller.telemetry.state.gauge import StateGauge
from controller.telemetry.state.population import extra_deployments, population
from controller.telemetry.state.rollouts import ROLLOUTS, RolloutSeen
from controller.telemetry.state.routings import ROUTINGS, RoutingSeen

S = TypeVar("S")


class Seen(NamedTuple):
    """The content of the caches at an instant."""

    now: datetime
    rollouts: tuple[Rollout, ...] = ()
    routings: tuple[TrafficRouting, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    replica_sets: tuple[ReplicaSet, ...] = ()
    pods: tuple[Pod, ...] = ()


class StateCollector(Collector):
    """Gauges of all Rollouts and TrafficRoutings, while `lead` has set a source."""

    def __init__(self) -> None:
        self._source: Callable[[], Seen] | None = None
        self._seen: Seen | None = None
        self._pages = 0
        """Pages that are being made from it."""

    def lead(self, source: Callable[[], Seen] | None) -> None:
        """From now on export the state of `source`; with None, export none."""
        self._source = source

    def look(self) -> None:
        """Read the state to export; called on the event loop."""
        self._seen = self._source() if self._source is not None else None
        self._pages += 1

    def let_go(self) -> None:
        """A page is made; called on the event loop."""
        self._pages -= 1
        if not self._pages:
            self._seen = None

    def namespaces(self) -> frozenset[str] | None:
        """The namespaces that had Rollouts at the last look; None if another process leads."""
        if self._seen is None:
            return None
        return frozenset(one.metadata.namespace for one in self._seen.rollouts)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges of the last copy of the caches."""
        seen = self._seen
        if seen is None:
            return
        pods, extra = population(seen.pods, seen.replica_sets), extra_deployments(seen.deployments)

        def rollouts() -> Iterator[tuple[ObjectMeta, RolloutSeen]]:
            for one in seen.rollouts:
                beside = tuple(extra.get(one.metadata.uid, ()))
                yield one.metadata, RolloutSeen(one, seen.now, pods, beside)

        def routings() -> Iterator[tuple[ObjectMeta, RoutingSeen]]:
            for one in seen.routings:
                yield one.metadata, RoutingSeen(one, seen.now)

        yield from _families("rollout", ROLLOUTS, rollouts)
        yield from _families("trafficrouting", ROUTINGS, routings)

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Names that no other collector may use."""
        for gauge in ROLLOUTS:
            yield GaugeMetricFamily(gauge.name, gauge.text, labels=_labels("rollout", gauge))
        for each in ROUTINGS:
            yield GaugeMetricFamily(each.name, each.text, labels=_labels("trafficrouting", each))


def _labels(kind: str, gauge: StateGauge[S]) -> tuple[str, ...]:
    return "namespace", kind, *gauge.labels


class Samples(list[Sample]):
    """The samples of a family, created one by one during iteration.

    Why not a list: hundreds of thousands of new objects that live for a second make the garbage collector visit the
    whole process while nothing else can run.
    """

    def __init__(self, make: Callable[[], Iterator[Sample]]) -> None:
        super().__init__()
        self._make = make

    def __iter__(self) -> Iterator[Sample]:
        return self._make()


def _families(
    kind: str,
    gauges: Iterable[StateGauge[S]],
    objects: Callable[[], Iterator[tuple[ObjectMeta, S]]],
) -> Iterator[GaugeMetricFamily]:
    for gauge in gauges:
        family = GaugeMetricFamily(gauge.name, gauge.text, labels=_labels(kind, gauge))
        family.samples = Samples(partial(_samples, kind, gauge, objects))
        yield family


def _samples(
    kind: str,
    gauge: StateGauge[S],
    objects: Callable[[], Iterator[tuple[ObjectMeta, S]]],
) -> Iterator[Sample]:
    names = _labels(kind, gauge)
    for meta, one in objects():
        for labels, value in gauge.read(one):
            labels_of_sample = dict(zip(names, (meta.namespace, meta.name, *labels), strict=True))
            yield Sample(gauge.name, labels_of_sample, value)
