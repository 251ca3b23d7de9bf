"""Every metric of the controller, in one registry of its own.

Invariants: labels are bounded: a name only on gauges that say what *is* (`state`), which go when the object goes; a
namespace on those and on the counter of releases (`completed`), which goes after its last Rollout; no pod, revision or
message is ever a label. Methods are cheap and do not raise. `render` may take a second with thousands of Rollouts: it
is called in a thread, after `look` on the event loop.
"""

from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder

from controller.domain.rollout.ends.reported import End
from controller.telemetry import tracing
from controller.telemetry.completed import CompletedReleases
from controller.telemetry.health import Rendered
from controller.telemetry.page import pieces
from controller.telemetry.standard import StandardMetrics
from controller.telemetry.state.collector import StateCollector
from controller.version import program_version

_RELEASE = (
    5.0,
    15.0,
    30.0,
    60.0,
    300.0,
    900.0,
    1800.0,
    3600.0,
    4 * 3600.0,
    24 * 3600.0,
    7 * 24 * 3600.0,
)
_STATE = (0.1, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 24 * 3600.0)
_SCRIPT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)


class Metrics(StandardMetrics):
    """The controller's own `moonshift_*` on top of the standard ones."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        super().__init__(registry)
        self.state = StateCollector()
        registry.register(self.state)
        build = Gauge(
            "moonshift_build_info",
            "1, with the version of this process",
            ("version",),
            registry=registry,
        )
        build.labels(program_version()).set(1)
        self._define_releases(registry)
        self._define_scripts(registry)
        self._define_admission(registry)
        self._define_watches(registry)
        self._of_watch: dict[str, tuple[Counter, Gauge]] = {}

    def _define_releases(self, registry: CollectorRegistry) -> None:
        self._approvals = Counter(
            "moonshift_approvals", "Approvals that were honoured", registry=registry
        )
        self._completed = CompletedReleases(registry)
        self._release_seconds = Histogram(
            "moonshift_release_seconds",
            "Duration of a release",
            ("outcome",),
            buckets=_RELEASE,
            registry=registry,
        )
        for end in End:
            self._release_seconds.labels(end.value)
        self._entered = Counter(
            "moonshift_state_entered",
            "States of steps that were entered",
            ("state",),
            registry=registry,
        )
        self._state_seconds = Histogram(
            "moonshift_state_seconds",
            "Time spent in a step's state, by what the release waited for: people, a timer or the cluster",
            ("state", "waiting_for"),
            buckets=_STATE,
            registry=registry,
        )

    def _define_scripts(self, registry: CollectorRegistry) -> None:
        self._script_calls = Counter(
            "moonshift_script_calls", "Script calls", ("code",), registry=registry
        )
        self._script_seconds = Histogram(
            "moonshift_script_seconds",
            "Duration of a script call, seen by the caller",
            buckets=_SCRIPT,
            registry=registry,
        )
        self._configured_scripts = Gauge(
            "moonshift_configured_scripts",
            "Scripts in the ConfigMap, by state",
            ("state",),
            registry=registry,
        )
        self._drift = Counter(
            "moonshift_drift", "Foreign changes of objects in use", ("action",), registry=registry
        )
        self._events_dropped = Counter(
            "moonshift_events_dropped",
            "Events that were not written",
            ("reason",),
            registry=registry,
        )

    def _define_admission(self, registry: CollectorRegistry) -> None:
        self._admissions = Counter(
            "moonshift_admission",
            "Admission requests answered",
            ("webhook", "allowed"),
            registry=registry,
        )
        self._admission_seconds = Histogram(
            "moonshift_admission_seconds",
            "Duration of an admission answer",
            ("webhook",),
            buckets=_SCRIPT,
            registry=registry,
        )
        self._certificate = Gauge(
            "moonshift_certificate_expiration_timestamp_seconds",
            "When the certificate of the webhooks ends, in Unix time",
            registry=registry,
        )

    def _define_watches(self, registry: CollectorRegistry) -> None:
        self._relists = Counter(
            "moonshift_watch_relists", "Full lists", ("resource", "reason"), registry=registry
        )
        self._undecodable = Counter(
            "moonshift_watch_undecodable",
            "Objects or lines that could not be read",
            ("resource",),
            registry=registry,
        )
        self._watch_events = Counter(
            "moonshift_watch_events", "Watch events", ("resource",), registry=registry
        )
        self._synced = Gauge(
            "moonshift_cache_synced",
            "1 while a cache that decisions need is complete",
            ("resource",),
            registry=registry,
        )
        self._cached = Gauge(
            "moonshift_cached_objects", "Objects held in memory", ("resource",), registry=registry
        )

    def approved(self) -> None:
        """An approval was honoured."""
        self._approvals.inc()

    def release_ended(self, namespace: str, outcome: str, seconds: float) -> None:
        """A release ended: succeeded, rolled_back, superseded and so on."""
        self._completed.ended(namespace, outcome)
        self._release_seconds.labels(outcome).observe(seconds)

    def state_entered(self, state: str) -> None:
        """A step came into a state."""
        self._entered.labels(state).inc()

    def state_left(self, state: str, waiting_for: str, seconds: float) -> None:
        """A step left a state in which it waited for `waiting_for` (people, timer or work)."""
        self._state_seconds.labels(state, waiting_for).observe(seconds)

    def script_ran(self, outcome: str, seconds: float) -> None:
        """A script was called; `outcome` is the worker's code, or UNAVAILABLE."""
        self._script_calls.labels(outcome).inc()
        self._script_seconds.observe(seconds, tracing.exemplar())

    def configured_scripts(self, state: str, count: int) -> None:
        """Set the numbers of keys of the ConfigMap of scripts that are usable, unusable or shadowed."""
        self._configured_scripts.labels(state).set(count)

    def drifted(self, action: str) -> None:
        """A foreign change was met: put_back or held."""
        self._drift.labels(action).inc()

    def event_dropped(self, reason: str) -> None:
        """An Event was not written: full, failed or stopping."""
        self._events_dropped.labels(reason).inc()

    def admitted(self, webhook: str, allowed: bool, seconds: float) -> None:
        """An admission request was answered."""
        self._admissions.labels(webhook, "true" if allowed else "false").inc()
        self._admission_seconds.labels(webhook).observe(seconds)

    def certificate_loaded(self, not_after: datetime) -> None:
        """The webhooks answer with a certificate that holds until then."""
        self._certificate.set(not_after.timestamp())

    def relisted(self, resource: str, reason: str) -> None:
        """A reflector listed everything: start, gone or undecodable."""
        self._relists.labels(resource, reason).inc()

    def undecodable(self, resource: str) -> None:
        """A reflector met something it cannot read."""
        self._undecodable.labels(resource).inc()

    def watched(self, resource: str, events: int, cached: int) -> None:
        """A reflector processed events; the store has this number of objects."""
        counter, gauge = self._of_watch.get(resource) or self._bind_watch(resource)
        counter.inc(events)
        gauge.set(cached)

    def cache_synced(self, resource: str, synced: bool) -> None:
        """A cache can be relied on, or not."""
        self._synced.labels(resource).set(1 if synced else 0)

    def unwatched(self, resource: str) -> None:
        """A reflector ended, and its store with it."""
        self._of_watch.pop(resource, None)
        _remove(self._cached, resource)

    def _bind_watch(self, resource: str) -> tuple[Counter, Gauge]:
        """The metrics of one watch, kept: to find them by their label for every event took 2 % of a release's CPU."""
        bound = self._watch_events.labels(resource), self._cached.labels(resource)
        self._of_watch[resource] = bound
        return bound

    def look(self) -> None:
        """Read the state for the next page; called on the event loop."""
        self.state.look()
        if (namespaces := self.state.namespaces()) is not None:
            self._completed.look(namespaces)

    def let_go(self) -> None:
        """Forget the state that a look has read; called on the event loop."""
        self.state.let_go()

    def render(self, accept: str = "") -> Rendered:
        """The page in the format that is asked for by `Accept`: text, or OpenMetrics; slow, call it in a thread."""
        encode, content_type = choose_encoder(accept)
        return Rendered(b"".join(pieces(self.registry.collect(), encode)), content_type)


def _remove(gauge: Gauge, *labels: str) -> None:
    """Drop a series, whether or not it exists."""
    try:
        gauge.remove(*labels)
    except KeyError:
        return
