"""Requests do not go to a Service without ready pods for longer than the grace period, if they could go to ready pods
elsewhere.

Invariant: the time of a write is the time of the API server's answer in the audit log; a write that is not in the log
is not checked. It must do no I/O.
"""

from collections.abc import Iterator
from datetime import datetime

from localcluster.history import Change
from tests.cluster.manifests import Application
from tests.cluster.margins import Times
from tests.cluster.view import View, ready

SLACK_SECONDS = 5.0
"""From the instant at which the wait is over to the answer of the API server, on a machine that is busy."""
REVISION_LABELS = {"pod-template-hash", "controller-revision-hash"}


class EmptySides:
    """The time since which each target of requests has been empty."""

    def __init__(self, app: Application, times: Times) -> None:
        self._app = app
        self._times = times
        self._since: dict[str, datetime] = {}
        self._now: datetime | None = None

    def after(self, change: Change, view: View) -> str | None:
        """The first place that has been empty for too long."""
        at = self._times(change)
        if at is not None and (self._now is None or at > self._now):
            self._now = at
        now = self._now
        if now is None:
            return None
        self._since = {place: self._since.get(place, now) for place in self._empty(view)}
        for place, since in self._since.items():
            lasted = (now - since).total_seconds()
            if lasted > self._app.grace + SLACK_SECONDS:
                return f"{place} has led nowhere for {lasted:.3f} s"
        return None

    def _empty(self, view: View) -> Iterator[str]:
        """Targets without a ready pod while another target has one; nothing is wrong with a workload of zero
        replicas."""
        workload = view.get(self._app.workload_kind, self._app.name)
        if workload is not None and workload["spec"].get("replicas") == 0:
            return
        service = view.service(self._app.name)
        selector = dict(service["spec"].get("selector") or {}) if service is not None else {}
        if REVISION_LABELS & selector.keys() and not view.endpoints(self._app.name):
            own = {k: v for k, v in selector.items() if k not in REVISION_LABELS}
            if any(ready(p) and own.items() <= labels(p) for p in view.pods(self._app.name)):
                yield f"Service {self._app.name}"
        for rule in view.routes(self._app.name):
            if not any(view.behind(self._app.name, destination) for destination in rule):
                continue
            for place in rule:
                if place.weight and not view.behind(self._app.name, place):
                    yield f"{place.weight} % to {place.host} {place.subset}".strip()


def labels(pod: dict[str, object]) -> set[tuple[str, str]]:
    """The labels of a pod."""
    metadata = pod["metadata"]
    assert isinstance(metadata, dict)
    return set((metadata.get("labels") or {}).items())
