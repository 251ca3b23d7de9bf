"""The interface through which steps and ends of a release move pods, with "nothing to do" as the common answer.

Invariant: a mechanism answers with actions or waits, and removes no pod that a route leads to; its caller decides when
to call which method.
"""

from abc import ABC, abstractmethod

from controller.domain.decision import Action, FieldOfSpec
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


class Mechanism(ABC):
    """Moves the pods of one kind of workload in one style; a method that a kind does not define has nothing to do."""

    @abstractmethod
    def preconditions(self, release: Release) -> Stop | None:
        """Bring about the conditions for moving any pod of a step; None when they are true."""

    @abstractmethod
    def grow(
        self, release: Release, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """The next move towards the step's pods; with `give_back`, old pods are removed as new pods become ready."""

    def regrow(self, release: Release, index: int) -> tuple[Action, ...]:
        """Restore pods that somebody removed and that a route leads to, or is about to."""
        return ()

    def old_share(self, release: Release, index: int) -> Stop | None:
        """Remove the step's old pods, no sooner than the grace period after the route left them; None when they are
        gone.
        """
        return None

    @abstractmethod
    def keep(self, release: Release, index: int) -> tuple[Action, ...]:
        """Repairs of the step's pods while it waits."""

    def delete_excess(self, release: Release) -> tuple[Action, ...]:
        """Delete pods beyond the owner's replicas if the freeze keeps the workload's controller from deleting them."""
        return ()

    def only_stable_returns(self, release: Release) -> Stop | None:
        """The workload has no replicas: make sure that only the stable revision returns; None when that is sure."""
        return None

    @abstractmethod
    def returned_as_new(self, release: Release) -> bool:
        """The workload had no replicas, and returned as the new revision although the step leaves stable pods."""

    def stable_returns_first(self, release: Release, *, returning: bool) -> bool:
        """Another revision came, and pods of an abandoned one run in the place of stable ones. The stable pods return
        before anything is abandoned; `returning` says that they already do.
        """
        return False

    def too_many_are_new(self, release: Release) -> bool:
        """More pods are new than any step asked for, and the workload's controller creates no stable ones by itself."""
        return False

    @abstractmethod
    def bring_stable_back(self, release: Release) -> Stop | None:
        """Restore the stable revision's pods; None when they are ready."""

    def send_new_away(self, release: Release) -> Stop | None:
        """Remove the new revision's pods; None when none is left."""
        return None

    def clear_abandoned(self, release: Release) -> Stop | None:
        """Make room for another revision: remove the remains of the release before it; None when nothing is left."""
        return None

    def replace_abandoned(self, release: Release) -> Stop | None:
        """Another revision came: put stable pods in place of abandoned ones, to which routes still lead; None if the
        stable revision has never shrunk, has enough pods, or cannot get them.
        """
        return None

    def scale_up_stable(self, release: Release, stable: Readiness) -> tuple[Action, ...] | None:
        """Add stable pods before the stable revision takes all traffic back; empty if nothing has to be written for
        that, None if it has never shrunk.
        """
        return None

    def given_up_pods_leave(self, release: Release) -> Stop | None:
        """Replace pods of given-up revisions that the owner's own limits would protect; None when there is none."""
        return None

    @abstractmethod
    def release(self, release: Release, *, keep_mark: bool, drop_label: bool = False) -> Action:
        """Restore the owner's own values in one write; our marks are removed with them unless `keep_mark`."""

    @abstractmethod
    def promoted(self, release: Release) -> Stop | None:
        """Wait until the workload, restored, has only pods of its template; None when it has."""

    def owners_fields(self, release: Release) -> tuple[FieldOfSpec, ...]:
        """Fields of the spec, beyond the strategy, that change with it in one write."""
        return ()
