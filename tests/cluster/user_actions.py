"""The actions of people on an application, and the permissions that follow from them.

Invariant: both follow from the actions and the owner's manifests alone, never from objects that the product wrote. It
must do no I/O.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tests.cluster.manifests import STABLE_IMAGE, Application


@dataclass(frozen=True, slots=True)
class UserAction:
    """An action of a person: `release` (of an image), `approve`, `jump` (to a step), `scale` (to a size), `disable`
    or `delete`."""

    revision: int
    what: str
    image: str = ""
    step: int = 0
    size: int = 0


class Permission:
    """The steps and shares that people have allowed so far, from their actions alone."""

    def __init__(self, app: Application, actions: Iterable[UserAction]) -> None:
        self._app = app
        self._actions = sorted(actions, key=lambda action: action.revision)
        self.released = False
        self.image = STABLE_IMAGE
        self.step = 0
        self.free = False
        self.again = False
        """The release under way has the same image as the release before: their pods cannot be distinguished."""
        self.turns = 0
        """How often people asked for another release, for another step than the next one, or for another size."""
        self.size = self.least = app.replicas
        """Replicas the owner asks for now, and the fewest they asked for since the release began."""
        self.largest = app.replicas
        """The most replicas the owner asked for since the release began."""
        self.bereft = False
        """A scale-down removed the new pods of a set, because its controller chose them; the route has not changed
        yet."""
        self.emptied = False
        """The workload was scaled to zero, and has had no pod behind its stable Service since then."""
        self.pods: dict[str, int] = {}
        self._traffic: dict[str, int] = {}

    @property
    def abandoned(self) -> bool:
        """Another new revision came before this one."""
        return len(self.pods) > 1

    @property
    def finished(self) -> bool:
        """The last step was approved."""
        return self.step > len(self._app.steps)

    @property
    def lets_go(self) -> bool:
        """The workload's own controller may replace pods: after the last approval, or if no release is wanted."""
        return self.finished or self.free or self.image == STABLE_IMAGE

    def traffic(self, image: str) -> int:
        """The largest share in percent that a revision may have."""
        if image == STABLE_IMAGE or self.free:
            return 100
        return self._traffic.get(image, 0)

    @property
    def whole(self) -> bool:
        """The approved step makes all pods new ones (of the workload itself)."""
        return not self.finished and self._app.steps[self.step - 1].pods >= self.size

    def advance(self, revision: int) -> None:
        """Include the actions up to a revision."""
        while self._actions and self._actions[0].revision <= revision:
            self._do(self._actions.pop(0))

    def _do(self, action: UserAction) -> None:
        self.turns += action.what != "approve"
        match action.what:
            case "release":
                self.again = self.released and action.image == self.image
                self.released, self.image, self.step = True, action.image, 1
            case "approve":
                self.step += 1
            case "jump":
                self.step = action.step
            case "disable" | "delete":
                self.free = True
            case "scale":
                self._scale(action.size)
                return
            case _:
                raise ValueError(action.what)
        while not self.finished and self._app.automatic(self.step):
            self.step += 1
        most = self._app.replicas if self.finished else self._app.steps[self.step - 1].pods
        if most >= self._app.replicas:
            most = self.size  # written as 100 %
        if self.released and self.image != STABLE_IMAGE:
            self.pods[self.image] = max(most, self.pods.get(self.image, 0))
            share = 100 if self.finished else self._app.steps[self.step - 1].traffic or 0
            self._traffic[self.image] = max(share, self._traffic.get(self.image, 0))

    def _scale(self, size: int) -> None:
        """A scale event gives the new revision its share of the added pods before the controller can react.

        A StatefulSet adds pods above its partition, so all of them; the others keep the proportion. From zero the
        release begins again: stable pods come back, and then the first step's share.
        """
        self.largest = max(self.largest, size)
        if size == 0 or self.size == 0:
            self.emptied, self.step = True, min(self.step, 1)
            if size:
                self.pods = dict.fromkeys(self.pods, self._app.steps[0].pods)
            self.size, self.least = size, 0
            return
        for image, most in self.pods.items():
            share = -(-most * size // self.size)
            added = max(0, size - self.size)
            ordered = self._app.kind_name == "StatefulSet"
            self.pods[image] = max(most, most + added if ordered else share)
        self.bereft = self._app.workload != "Deployment" and size < self.size
        self.size, self.least = size, min(size, self.least)
