"""Compares the steps in the status of a Rollout with the steps that a person approved.

Invariant: the status is read as a client reads it. Until the first step of a release was seen, the status is that of
the release before it, and is not judged.
"""

from localcluster.api import JsonObject
from tests.cluster.kinds import ROLLOUTS
from tests.cluster.view import View


def step_in_status(view: View, name: str) -> tuple[str, int] | None:
    """The present revision and step in the status; None if the status has none."""
    rollout = view.get(ROLLOUTS, name)
    status: JsonObject = (rollout or {}).get("status") or {}
    style = status.get("canaryStatus") or status.get("blueGreenStatus") or {}
    revision = style.get("canaryRevision") or style.get("updatedRevision")
    step = int(style.get("currentStepIndex") or 0)
    return (revision, step) if revision and step and status.get("phase") == "Progressing" else None


class StepsInOrder:
    """The status shows no step that was not approved, and never returns to an earlier step by itself."""

    def __init__(self) -> None:
        self._shown = ("", 0)
        """The last revision and step in the status; step 0 if the present one is not known."""
        self._earlier: set[str] = set()
        """Revisions that the status showed before the release under way."""
        self._approved = 0
        self._image = ""

    def look(
        self, shown: tuple[str, int] | None, image: str, approved: int, *, stable: bool
    ) -> str | None:
        """Judge the step that the status shows now. `approved` is the step a person let the release come to, of this
        image.
        """
        if image != self._image or stable:
            self._earlier.add(self._shown[0])
            self._shown = ("", 0)
        elif approved < self._approved:
            # A requested step back: the status may lag behind.
            self._shown = (self._shown[0], 0)
        self._image, self._approved = image, approved
        if shown is None or stable or shown[0] in self._earlier:
            return None
        before, step = self._shown[1], shown[1]
        if before == 0 and step > approved and shown[0] == self._shown[0]:
            return None
        self._shown = shown
        if step > approved:
            return f"the status says step {step}, approved is {approved}"
        return f"the status goes from step {before} to {step}" if step < before else None
