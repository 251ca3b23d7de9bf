"""The version that was rolled back without a person, and is held when it is applied again.

Why: the Event that says so is gone after an hour, and the Rollout is at rest as if nothing had happened. Invariant:
the sentence comes from the status alone, and ends when another release begins.
"""

from controller.api.rollout import Rollout, RolloutStatus
from controller.domain.rollout.words.release_context import moonshift_status


def is_given_up(status: RolloutStatus) -> bool:
    """The last release was given up, and the workload has the template from before it."""
    ours = moonshift_status(status)
    last = bool(ours.failed_template) and ours.failed_template == ours.revision
    return last and ours.template == ours.stable_template


def given_up_text(rollout: Rollout, images: str) -> str:
    """One sentence; empty if no version is given up. `images` is empty if its template is not known."""
    if not is_given_up(rollout.status):
        return ""
    return f"{images or 'the new version'} was given up and rolled back"


def held_until(name: str) -> str:
    """The rule that holds the version, and the command that ends it."""
    return (
        "when it is applied again, it is held until its template changes or you run "
        f"kubectl moonshift retry {name}"
    )
