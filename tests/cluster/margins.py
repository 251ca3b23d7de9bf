"""The Services, pods and subsets behind a route stay for the grace period after the route has left them; subsets are
there for the grace period before a route names them.

Invariant: the time of a write is the time of the API server's answer in the audit log; a write that is not in the log
is not checked. It must do no I/O.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from math import inf

from localcluster.history import Change, Key
from tests.cluster.kinds import DESTINATION_RULES, PODS, SERVICES, VIRTUAL_SERVICES
from tests.cluster.manifests import Application
from tests.cluster.view import View

TOLERANCE_SECONDS = 0.005

Times = Callable[[Change], datetime | None]
"""The time of a change, if the audit log contains it."""


class Margin:
    """The Service and the pods of a former route stay for the grace period after the route has left them."""

    def __init__(self, app: Application, times: Times) -> None:
        self._app = app
        self._times = times
        self._behind: dict[Key, Place] = {}
        self._left: dict[Key, tuple[Place, datetime]] = {}

    def before(self, change: Change, view: View) -> None:
        """Note the places that the route leads to, as long as it does."""
        if self._is_route(change):
            self._behind = self._led_to(view)

    def after(
        self, change: Change, view: View, *, scaled_down: bool = False, scaled_to_zero: bool = False
    ) -> str | None:
        """A Service, or its last pod, is removed no sooner than one grace period after the route has left it.

        After a scale-down, the pod is removed first and the route changes after that. If the workload wants no pods,
        its own controller deletes them all, at a time that Moonshift does not choose.
        """
        key = change.key
        if self._is_route(change):
            self._route_changed(change, view)
        if change.type != "DELETED" or key not in self._left:
            return None
        place, left_at = self._left.pop(key)
        at = self._times(change)
        if at is None or (key.kind == PODS and place.answers(view)):
            return None
        waited = (at - left_at).total_seconds()
        if key.kind == PODS and (scaled_to_zero or (scaled_down and waited < 0)):
            return None
        if waited < self._app.grace - TOLERANCE_SECONDS:
            return f"{key.kind.plural} {key.name} went {waited:.3f} s after the route left it"
        return None

    def _is_route(self, change: Change) -> bool:
        return change.key.kind == VIRTUAL_SERVICES and change.key.name == self._app.name

    def _route_changed(self, change: Change, view: View) -> None:
        at, now = self._times(change), self._led_to(view)
        for key, place in self._behind.items():
            if key not in now and at is not None:
                self._left[key] = (place, at)
        for stays in now:
            self._left.pop(stays, None)

    def _led_to(self, view: View) -> dict[Key, "Place"]:
        app, found = self._app, dict[Key, Place]()
        for destination in view.destinations(app.name):
            if not destination.is_canary(app) or destination.weight == 0:
                continue
            labels = view.subset(app.name, destination.subset) if destination.subset else {}
            place = Place(destination.host, tuple((labels or {}).items()))
            if not app.shared:
                found[Key(SERVICES, app.namespace, destination.host)] = place
            for pod in view.behind(app.name, destination):
                found[Key(PODS, app.namespace, pod["metadata"]["name"])] = place
        return found


@dataclass(frozen=True, slots=True)
class Place:
    """The target of a route: a Service, and the labels of a subset."""

    host: str
    labels: tuple[tuple[str, str], ...]

    def answers(self, view: View) -> bool:
        """A ready pod is there."""
        wanted = dict(self.labels).items()
        return any(wanted <= pod["metadata"]["labels"].items() for pod in view.endpoints(self.host))


class PointedAt:
    """A subset is there for the grace period before a route names it, and after the last route that named it.

    A proxy that learns of both at once may use the route before it knows the subset, or drop the subset before the
    route to it, and then answers 503.
    """

    def __init__(self, app: Application, times: Times) -> None:
        self._app = app
        self._times = times
        self._named: set[str] = set()
        self._there: dict[str, object] = {}
        self._left: dict[str, datetime] = {}
        self._written: dict[str, datetime] = {}

    def before(self, change: Change, view: View) -> None:
        """Note the named and the existing subsets, with their times."""
        if change.key.name == self._app.name:
            self._named, self._there = self._named_in(view), self._subsets_in(view)

    def after(self, change: Change, view: View) -> str | None:
        """A subset is removed no sooner than one grace period after the last route named it, and named no sooner than
        one after it was written.
        """
        if change.key.name != self._app.name:
            return None
        at = self._times(change)
        if change.key.kind == VIRTUAL_SERVICES:
            named = self._named_in(view)
            self._routes_changed(named, at)
            return self._named_too_soon(named - self._named, at)
        if change.key.kind != DESTINATION_RULES:
            return None
        for name, content in self._subsets_in(view).items():
            if at is not None and self._there.get(name) != content:
                self._written[name] = at
        return self._gone_too_soon(view, at)

    def _named_too_soon(self, names: set[str], at: datetime | None) -> str | None:
        for name in sorted(names & self._written.keys()):
            waited = (at - self._written[name]).total_seconds() if at is not None else inf
            if waited < self._app.grace - TOLERANCE_SECONDS:
                return f"a route named subset {name} {waited:.3f} s after it was written"
        return None

    def _gone_too_soon(self, view: View, at: datetime | None) -> str | None:
        for gone in sorted(self._there.keys() - self._subsets_in(view).keys()):
            if gone in self._named_in(view):
                return f"subset {gone} went, and a route names it"
            left_at = self._left.pop(gone, None)
            if at is None or left_at is None:
                continue
            waited = (at - left_at).total_seconds()
            if waited < self._app.grace - TOLERANCE_SECONDS:
                return f"subset {gone} went {waited:.3f} s after the last route that named it"
        return None

    def _routes_changed(self, now: set[str], at: datetime | None) -> None:
        if at is not None:
            self._left |= dict.fromkeys(self._named - now, at)
        for named in now:
            self._left.pop(named, None)

    def _named_in(self, view: View) -> set[str]:
        """Subsets that any destination names, with or without a share."""
        return {d.subset for d in view.destinations(self._app.name) if d.subset}

    def _subsets_in(self, view: View) -> dict[str, object]:
        found = view.get(DESTINATION_RULES, self._app.name) or {}
        return {subset["name"]: subset for subset in found.get("spec", {}).get("subsets") or ()}
