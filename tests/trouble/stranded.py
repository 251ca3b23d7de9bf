"""No share stays with a side that has no ready endpoint while the other side has one, longer than the grace period.

Why a file of its own: it is judged for every row, whatever the trouble was. Invariant: instants are those of the audit
log; a stretch begins at the first change of it that the log tells, so it is never taken for longer than it was. It
must do no I/O.
"""

from collections.abc import Sequence
from datetime import datetime

from localcluster.history import Change
from tests.cluster.invariants import Violation
from tests.cluster.manifests import Application
from tests.cluster.margins import Times
from tests.cluster.view import Destination, View

PATIENCE_SECONDS = 2.0
"""Beyond the grace period: what a busy machine may take to hear of it and to write."""


class Stretch:
    """A time in which a share led to nobody although somebody could have answered."""

    def __init__(self, lost: str, since: datetime | None) -> None:
        self.lost = lost
        self.since = since

    def until(self, at: datetime | None) -> float:
        """How many seconds it took."""
        return (at - self.since).total_seconds() if at and self.since else 0.0


def stranded(
    app: Application, history: Sequence[Change], times: Times, now: datetime
) -> list[Violation]:
    """Stretches that took too long; the last one may still go on."""
    view = View(app.namespace)
    found: list[Violation] = []
    stretch: Stretch | None = None

    def close(at: datetime | None, revision: int) -> None:
        waited = stretch.until(at) if stretch is not None else 0.0
        if stretch is not None and waited > app.grace + PATIENCE_SECONDS:
            detail = f"{stretch.lost} for {waited:.1f} s"
            found.append(Violation(revision, "nobody_is_stranded", detail))

    for change in history:
        if change.key.namespace != app.namespace:
            continue
        view.apply(change)
        lost, at = lost_share(app, view), times(change)
        if lost is None:
            close(at, change.resource_version)
            stretch = None
        elif stretch is None:
            stretch = Stretch(lost, at)
        elif stretch.since is None:
            stretch.since = at
    close(now, history[-1].resource_version if history else 0)
    return found


def lost_share(app: Application, view: View) -> str | None:
    """A share that leads to no ready pod while another side has one."""
    for rule in view.routes(app.name):
        ours = [d for d in rule if d.host in (app.name, app.canary_service)]
        dead = [d for d in ours if d.weight and not view.behind(app.name, d)]
        if dead and _somebody_answers(app, view, ours):
            return f"{dead[0].weight} % to {dead[0].host} {dead[0].subset}".strip()
    return None


def _somebody_answers(app: Application, view: View, named: Sequence[Destination]) -> bool:
    """A destination of the rule has ready pods, or a Service of the application that it could name."""
    if any(view.behind(app.name, destination) for destination in named):
        return True
    return any(view.endpoints(host) for host in (app.name, app.canary_service))
