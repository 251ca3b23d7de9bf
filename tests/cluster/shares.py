"""The new revision's share of the requests never falls by itself: in a step, between two steps, or at the end.

Invariant: a change that people ask for is allowed: another revision, a jump, another number of replicas, an edited
plan, a step with a smaller share, the end of the Rollout, or their own change of a route. It must do no I/O.
"""

from localcluster.api import JsonObject
from localcluster.history import Change
from tests.cluster.kinds import DESTINATION_RULES, ROLLOUTS, SERVICES, VIRTUAL_SERVICES
from tests.cluster.manifests import STABLE_IMAGE, Application
from tests.cluster.user_actions import Permission
from tests.cluster.view import View, image_of, ready

EPSILON = 1e-9
PLACES = frozenset({VIRTUAL_SERVICES, DESTINATION_RULES, SERVICES})


class ShareNeverFalls:
    """The new revision's share only grows, from the first step of its release on."""

    def __init__(self) -> None:
        self._most = 0.0
        self._turns = -1
        self._theirs = False
        """Somebody else has written the route, or a Service behind it, after the controller's last write."""
        self._plan = ""
        """The steps of the Rollout when people last turned the release."""

    def before(self, change: Change, *, by_others: bool) -> None:
        """Note who writes the places that requests go to."""
        if change.key.kind in PLACES:
            # The controller deletes no route.
            gone = change.type == "DELETED" and change.key.kind != SERVICES
            self._theirs = by_others or gone

    def look(self, app: Application, view: View, allowed: Permission) -> str | None:
        """The share now, against the largest since people last asked for something else."""
        plan = _plan(app, view)
        if allowed.turns != self._turns:
            self._turns, self._plan, self._most = allowed.turns, plan, 0.0
        if self._theirs or not _judged(app, view, allowed) or plan != self._plan:
            self._most = 0.0
            return None
        share = view.share(app, allowed.image)
        self._most = min(self._most, _planned(app, allowed))
        if share < self._most - EPSILON:
            return f"the share fell from {self._most:.2f} to {share:.2f}"
        self._most = max(self._most, share)
        return None


def _judged(app: Application, view: View, allowed: Permission) -> bool:
    """A release of a new revision is under way, and has pods to lead to.

    Without routes, pods divide the requests until the last approval, and old pods come and go as the owner's settings
    say.
    """
    if (
        allowed.free
        or allowed.again
        or allowed.image == STABLE_IMAGE
        or _taken_back(app, view, allowed)
    ):
        return False
    if allowed.finished:
        return True
    if not app.virtual_service or allowed.emptied or allowed.bereft:
        return False
    traffic = app.steps[allowed.step - 1].traffic
    served = any(ready(pod) and image_of(pod) == allowed.image for pod in view.pods(app.name))
    return served and (traffic is not None or _takes_all(app, allowed.step))


def _taken_back(app: Application, view: View, allowed: Permission) -> bool:
    """The workload has another template than the one released: a gate or a deadline took it back."""
    workload = view.get(app.workload_kind, app.name)
    spec: JsonObject = (workload or {}).get("spec") or {}
    template = spec.get("template")
    return template is not None and bool(image_of(template) != allowed.image)


def _plan(app: Application, view: View) -> str:
    """The steps of the Rollout; a person who edits them asks for another share."""
    rollout = view.get(ROLLOUTS, app.name) or {}
    strategy = (rollout.get("spec") or {}).get("strategy") or {}
    return str([plan.get("steps") for plan in strategy.values() if isinstance(plan, dict)])


def _planned(app: Application, allowed: Permission) -> float:
    """The share of the approved step: a larger share may fall to it."""
    traffic = None if allowed.finished else app.steps[allowed.step - 1].traffic
    return 1.0 if traffic is None else traffic / 100


def _takes_all(app: Application, step: int) -> bool:
    """The step leaves no old pod, so its Service leads to new ones without a route."""
    return not app.beside and app.steps[step - 1].pods >= app.replicas
