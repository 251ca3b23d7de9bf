"""Counts the releases that ended, by namespace.

Why the counters of a namespace end: clusters make a namespace for each branch and delete it after hours, and a
controller lives for months. Invariant: the counters of a namespace begin at zero, before its first release ends,
because a counter whose first sample is 1 has no increase for Prometheus; they go after `LOOKS` looks without a Rollout
there, when everybody who scrapes has read their last value.
"""

import contextlib

from prometheus_client import CollectorRegistry, Counter

from controller.domain.rollout.ends.reported import End

LOOKS = 20
"""Ten minutes of one Prometheus that looks twice a minute, five of two."""


class CompletedReleases:
    """`moonshift_rollouts_completed_total`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counter = Counter(
            "moonshift_rollouts_completed",
            f"Releases that ended, by outcome: {', '.join(End)}",
            ("namespace", "outcome"),
            registry=registry,
        )
        self._looks: dict[str, int] = {}
        """Looks since a namespace had a Rollout."""

    def ended(self, namespace: str, outcome: str) -> None:
        """Count a release that ended."""
        self._looks.setdefault(namespace, 0)
        self._counter.labels(namespace, outcome).inc()

    def look(self, namespaces: frozenset[str]) -> None:
        """Somebody is about to read the counters; these namespaces have Rollouts."""
        for namespace in namespaces - self._looks.keys():
            for end in End:
                self._counter.labels(namespace, end.value)
        self._looks |= dict.fromkeys(namespaces, 0)
        for namespace in self._looks.keys() - namespaces:
            self._looks[namespace] += 1
            if self._looks[namespace] > LOOKS:
                self._forget(namespace)

    def _forget(self, namespace: str) -> None:
        del self._looks[namespace]
        for end in End:
            with contextlib.suppress(KeyError):
                self._counter.remove(namespace, end.value)
