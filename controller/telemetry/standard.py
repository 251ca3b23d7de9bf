"""Metrics under the names that dashboards for Go controllers already know.

Why: operators have panels and alerts for controller-runtime's and client-go's names and labels; they have the same
meaning here. Invariant: every label comes from code or configuration, never from an object in the
cluster.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.process_collector import ProcessCollector

from controller.telemetry import tracing

_FINE = (0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_REQUEST = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0)


class StandardMetrics:
    """Queues, workers, requests, leadership, the process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        ProcessCollector(registry=registry)
        self._queues(registry)
        self._workers(registry)
        self._requests = Counter(
            "rest_client_requests",
            "Requests to the API server",
            ("code", "method", "host"),
            registry=registry,
        )
        self._request_seconds = Histogram(
            "rest_client_request_duration_seconds",
            "Time from sending a request to its whole answer",
            ("verb", "host"),
            buckets=_REQUEST,
            registry=registry,
        )
        self._leader = Gauge(
            "leader_election_master_status",
            "1 while this process holds the lease",
            ("name",),
            registry=registry,
        )
        self._shards = Gauge(
            "moonshift_shards", "Parts that the namespaces are divided into", registry=registry
        )

    def _queues(self, registry: CollectorRegistry) -> None:
        self._depth = Gauge("workqueue_depth", "Keys ready for work", ("name",), registry=registry)
        self._adds = Counter("workqueue_adds", "Keys made ready", ("name",), registry=registry)
        self._retries = Counter(
            "workqueue_retries", "Keys that come back after a failure", ("name",), registry=registry
        )
        self._waited = Histogram(
            "workqueue_queue_duration_seconds",
            "Time a key was ready before a worker took it; `rollout-urgent`: changes by people",
            ("name",),
            buckets=_FINE,
            registry=registry,
        )
        self._worked = Histogram(
            "workqueue_work_duration_seconds",
            "Time a worker spent on a key",
            ("name",),
            buckets=_FINE,
            registry=registry,
        )

    def _workers(self, registry: CollectorRegistry) -> None:
        self._reconciles = Counter(
            "controller_runtime_reconcile",
            "Reconciles by result",
            ("controller", "result"),
            registry=registry,
        )
        self._errors = Counter(
            "controller_runtime_reconcile_errors",
            "Reconciles that failed",
            ("controller",),
            registry=registry,
        )
        self._reconcile_seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Duration of a reconcile",
            ("controller",),
            buckets=_FINE,
            registry=registry,
        )
        self._active = Gauge(
            "controller_runtime_active_workers", "Busy workers", ("controller",), registry=registry
        )
        self._most = Gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Workers",
            ("controller",),
            registry=registry,
        )

    def queue_added(self, queue: str) -> None:
        """A key became ready."""
        self._adds.labels(queue).inc()

    def queue_depth(self, queue: str, ready: int) -> None:
        """The number of ready keys changed."""
        self._depth.labels(queue).set(ready)

    def queue_waited(self, queue: str, seconds: float) -> None:
        """A worker took a key that had been ready for `seconds`."""
        self._waited.labels(queue).observe(seconds)

    def queue_worked(self, queue: str, seconds: float) -> None:
        """A worker finished a key."""
        self._worked.labels(queue).observe(seconds)

    def queue_retried(self, queue: str) -> None:
        """A key will come back because its work failed."""
        self._retries.labels(queue).inc()

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        """One reconcile ended: success, requeue_after, requeue or error."""
        self._reconciles.labels(controller, result).inc()
        self._reconcile_seconds.labels(controller).observe(seconds)
        if result == "error":
            self._errors.labels(controller).inc()

    def workers(self, controller: str, active: int, most: int) -> None:
        """So many of `most` workers are busy."""
        self._active.labels(controller).set(active)
        self._most.labels(controller).set(most)

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        """A request to the API server was answered; code `<error>` when it was not."""
        self._requests.labels(code, method, host).inc()
        self._request_seconds.labels(method, host).observe(seconds, tracing.exemplar())

    def shards(self, count: int) -> None:
        """Set the number of parts that the namespaces are divided into."""
        self._shards.set(count)

    def leading(self, name: str, leads: bool) -> None:
        """This process became, or ceased to be, the leader."""
        self._leader.labels(name).set(1 if leads else 0)
