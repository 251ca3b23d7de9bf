"""Every metric of the controller, in one registry of its own.

Invariants: labels are bounded: a namespace and a name only on gauges that say what *is*, and those go when the
object goes (`forget_rollout`); no pod, revision or message is ever a label. Methods are cheap and do not raise.
`render` may take a tenth of a second with thousands of Rollouts: it is called in a thread.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from controller.telemetry.standard import StandardMetrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

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

_OBJECT = ("namespace", "name")


class Metrics(StandardMetrics):
    """The controller's own `moonshift_*` on top of the standard ones."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        super().__init__(registry)
        self._phases: dict[tuple[str, str], str] = {}
        self._define_rollouts(registry)
        self._define_work(registry)

    def _define_rollouts(self, registry: CollectorRegistry) -> None:
        self._phase = Gauge(
            "moonshift_rollout_phase",
            "1 for the phase a Rollout is in",
            (*_OBJECT, "phase"),
            registry=registry,
        )
        self._step = Gauge(
            "moonshift_rollout_step", "Step a Rollout is in, from 1", _OBJECT, registry=registry
        )
        self._stalled = Gauge(
            "moonshift_rollout_stalled",
            "1 while a Rollout cannot go on without help",
            _OBJECT,
            registry=registry,
        )
        self._pending = Gauge(
            "moonshift_approvals_pending",
            "1 while a Rollout waits for a person",
            _OBJECT,
            registry=registry,
        )
        self._approvals = Counter(
            "moonshift_approvals", "Approvals that were honoured", registry=registry
        )
        self._completed = Counter(
            "moonshift_rollouts_completed",
            "Releases that ended, by outcome",
            ("namespace", "outcome"),
            registry=registry,
        )
        self._release_seconds = Histogram(
            "moonshift_release_seconds",
            "Duration of a release",
            ("outcome",),
            buckets=_RELEASE,
            registry=registry,
        )
        self._state_seconds = Histogram(
            "moonshift_state_seconds",
            "Time in a step's state, by whether people, a timer or the cluster were waited for",
            ("state", "waiting_for"),
            buckets=_STATE,
            registry=registry,
        )

    def _define_work(self, registry: CollectorRegistry) -> None:
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
            "1 while a cache that decisions are made from is complete",
            ("resource",),
            registry=registry,
        )
        self._cached = Gauge(
            "moonshift_cached_objects", "Objects held in memory", ("resource",), registry=registry
        )

    def rollout(self, namespace: str, name: str, phase: str, step: int, stalled: bool) -> None:
        """A Rollout is in this phase and step."""
        key = (namespace, name)
        before = self._phases.get(key)
        if before is not None and before != phase:
            _remove(self._phase, namespace, name, before)
        self._phases[key] = phase
        self._phase.labels(namespace, name, phase).set(1)
        self._step.labels(namespace, name).set(step)
        self._stalled.labels(namespace, name).set(1 if stalled else 0)

    def forget_rollout(self, namespace: str, name: str) -> None:
        """A Rollout is gone, and so are its series."""
        phase = self._phases.pop((namespace, name), None)
        if phase is not None:
            _remove(self._phase, namespace, name, phase)
        for gauge in (self._step, self._stalled, self._pending):
            _remove(gauge, namespace, name)

    def approval_pending(self, namespace: str, name: str, pending: bool) -> None:
        """A Rollout began, or ceased, to wait for a person."""
        if pending:
            self._pending.labels(namespace, name).set(1)
        else:
            _remove(self._pending, namespace, name)

    def approved(self) -> None:
        """An approval was honoured."""
        self._approvals.inc()

    def release_ended(self, namespace: str, outcome: str, seconds: float) -> None:
        """A release ended: succeeded or canceled."""
        self._completed.labels(namespace, outcome).inc()
        self._release_seconds.labels(outcome).observe(seconds)

    def state_left(self, state: str, waiting_for: str, seconds: float) -> None:
        """A step left a state in which `waiting_for` (people, timer or work) was waited for."""
        self._state_seconds.labels(state, waiting_for).observe(seconds)

    def script_ran(self, outcome: str, seconds: float) -> None:
        """A script was called; `outcome` is the worker's code, or UNAVAILABLE."""
        self._script_calls.labels(outcome).inc()
        self._script_seconds.observe(seconds)

    def configured_scripts(self, state: str, count: int) -> None:
        """So many keys of the ConfigMap of scripts are usable, unusable or shadowed."""
        self._configured_scripts.labels(state).set(count)

    def drifted(self, action: str) -> None:
        """A foreign change was met: put_back, folded or held."""
        self._drift.labels(action).inc()

    def event_dropped(self, reason: str) -> None:
        """An Event was not written: full, failed or stopping."""
        self._events_dropped.labels(reason).inc()

    def admitted(self, webhook: str, allowed: bool, seconds: float) -> None:
        """An admission request was answered."""
        self._admissions.labels(webhook, "true" if allowed else "false").inc()
        self._admission_seconds.labels(webhook).observe(seconds)

    def relisted(self, resource: str, reason: str) -> None:
        """A reflector listed everything: start, gone or undecodable."""
        self._relists.labels(resource, reason).inc()

    def undecodable(self, resource: str) -> None:
        """A reflector met something it cannot read."""
        self._undecodable.labels(resource).inc()

    def watched(self, resource: str, events: int, cached: int) -> None:
        """A reflector took in events; its store holds so many objects."""
        self._watch_events.labels(resource).inc(events)
        self._cached.labels(resource).set(cached)

    def cache_synced(self, resource: str, synced: bool) -> None:
        """A cache can be relied on, or not."""
        self._synced.labels(resource).set(1 if synced else 0)

    def unwatched(self, resource: str) -> None:
        """A reflector ended, and what it held went."""
        _remove(self._cached, resource)

    def render(self) -> bytes:
        """The text exposition format; slow, call it in a thread."""
        return generate_latest(self.registry)


def _remove(gauge: Gauge, *labels: str) -> None:
    """Drop a series, whether or not it exists."""
    try:
        gauge.remove(*labels)
    except KeyError:
        return
