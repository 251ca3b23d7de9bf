"""Every end of a release: each Service that a route names has a ready endpoint, or had none before, and no pod of a
revision that was given up is left.

An end is the change with which the Rollout becomes Healthy again. Invariant: revisions are images, and those that
people gave up follow from their actions alone: an image that they released, and then another one in its place. Pods
that ran before the first release are its owner's. It must do no I/O.
"""

from localcluster.api import JsonObject
from localcluster.history import Change
from tests.cluster.kinds import ROLLOUTS
from tests.cluster.manifests import Application
from tests.cluster.user_actions import Permission
from tests.cluster.view import View, deleting, image_of

ENDED = ("Failed", "Succeeded")
"""Phases of pods that exist as objects only."""


class Ends:
    """The state before the release, and the images that were given up during it."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self._phase = ""
        self._image = ""
        self._given_up: set[str] = set()
        self._before: set[str] = set()
        self._led: set[str] = set()

    def after(
        self, change: Change, view: View, allowed: Permission
    ) -> tuple[str | None, str | None]:
        """The faults of the end that this change is: of the Services, and of the pods."""
        if not self._image:
            # The change of the template itself has moved nothing yet.
            self.begin(view)
        if not allowed.released:
            return None, None
        if self._image and allowed.image != self._image:
            self._given_up.add(self._image)
        self._image = allowed.image
        self._given_up.discard(allowed.image)
        phase = _phase(view.get(ROLLOUTS, self._app.name))
        ends = phase == "Healthy" and self._phase == "Progressing"
        self._phase = phase
        return (self._led_nowhere(view, allowed), self._left(view)) if ends else (None, None)

    def begin(self, view: View) -> None:
        """Remember the pods and routes that the owner had before the first release."""
        self._before = {image_of(pod) for pod in view.pods(self._app.name)}
        hosts = {place.host for place in view.destinations(self._app.name)}
        self._led = {host for host in hosts if view.endpoints(host)}

    def _led_nowhere(self, view: View, allowed: Permission) -> str | None:
        if allowed.size == 0:
            return None
        for place in view.destinations(self._app.name):
            if not place.weight or place.host not in self._led:
                continue
            if view.service(place.host) is None:
                return f"the release is over, and a route names {place.host}, which does not exist"
            if not view.behind(self._app.name, place):
                return (
                    f"the release is over, and nobody is behind {place.host} {place.subset}".strip()
                )
        return None

    def _left(self, view: View) -> str | None:
        gone = self._given_up - self._before
        for pod in view.pods(self._app.name):
            ended = (pod.get("status") or {}).get("phase") in ENDED
            if image_of(pod) in gone and not deleting(pod) and not ended:
                name = pod["metadata"]["name"]
                return f"the release is over, and {name} runs {image_of(pod)}, which was given up"
        return None


def _phase(rollout: JsonObject | None) -> str:
    phase: str = ((rollout or {}).get("status") or {}).get("phase") or ""
    return phase
