"""A Rollout that does not continue, and the spelling of commands about it.

Invariant: a command is complete and can be copied into a shell; only values that a person has to supply are in capitals
(FILE, NUMBER). It must not decide which commands help.
"""

from controller.cli.remedies import mentions
from controller.cli.views.problems import is_bad
from controller.cli.views.view import Remedy, RolloutView, SharedRoutesView
from controller.domain import reasons


class Case:
    """The facts, and the spelling of commands; `reason` and `message` come from the condition Stalled."""

    edited = "the Rollout"
    """The object that its author may correct, in the purposes of commands."""

    def __init__(self, view: RolloutView, program: str) -> None:
        self.view = view
        self.summary = view.summary
        stall = next((c for c in view.conditions if c.type == "Stalled" and is_bad(c)), None)
        self.reason = stall.reason if stall is not None else ""
        self.message = stall.message if stall is not None else ""
        self.goes_back = any(
            c.type == "Progressing" and c.reason == reasons.CANCELLING for c in view.conditions
        )
        self._program = program

    @property
    def namespace(self) -> str:
        """The namespace of the Rollout and its objects."""
        return self.summary.namespace

    @property
    def workload(self) -> str:
        """The workload, spelled as kubectl takes it."""
        kind, _, name = self.summary.workload.partition("/")
        group = self.summary.workload_group
        return f"{kind.lower()}{'' if group in ('', 'apps') else f'.{group}'}/{name}"

    def ours(self, verb: str, purpose: str) -> Remedy:
        """A command of this program about the Rollout."""
        return Remedy(f"{self._program} {verb} {self.summary.name} -n {self.namespace}", purpose)

    def kubectl(self, words: str, purpose: str) -> Remedy:
        """A command of kubectl in the Rollout's namespace."""
        return Remedy(f"kubectl {words} -n {self.namespace}", purpose)

    def beside_the_controller(self, words: str, purpose: str) -> Remedy:
        """A command of kubectl in the controller's namespace."""
        return Remedy(f"kubectl {words} -n {self.view.controller_namespace}", purpose)

    def describe(self, purpose: str = "everything that is known of it") -> Remedy:
        """The default remedy."""
        return self.ours("describe", purpose)

    def approve(self, purpose: str = "let the step go on") -> Remedy:
        """The command that ends the waiting step."""
        return self.ours("approve", purpose)

    def undo(self) -> Remedy:
        """The command that rolls back."""
        return self.ours("undo", "go back to the old version")

    def back(self) -> tuple[Remedy, ...]:
        """The command that rolls back, while a rollback is possible."""
        return () if mentions.ending(self.message) else (self.undo(),)

    def edit(self, purpose: str = "") -> Remedy:
        """The command that edits the Rollout."""
        return self.kubectl(
            f"edit rollout {self.summary.name}", purpose or f"correct {self.edited}"
        )

    @staticmethod
    def once(*found: Remedy) -> tuple[Remedy, ...]:
        """Each command once, in the order of the first mention."""
        return tuple(dict.fromkeys(found))

    def names_another(self, purpose: str = "") -> tuple[Remedy, ...]:
        """The command that changes `trafficRoutings`; after the first move, when admission refuses it, the way back."""
        return self.back() if self.view.routes_fixed else (self.edit(purpose),)

    def names_another_workload(self, purpose: str = "") -> tuple[Remedy, ...]:
        """The command that changes workload or style; during a release, when admission refuses that, the way back."""
        return self.back() if self.view.workload_fixed else (self.edit(purpose),)

    def applied(self, kind: str, name: str) -> tuple[Remedy, ...]:
        """The commands for an object that does not exist."""
        return (
            self.kubectl("apply -f FILE", f"FILE: the manifest of {kind} {name}"),
            self.kubectl(f"get {kind.lower()}", "all objects of this kind"),
            *self.names_another(f"or name another one in {self.edited}"),
        )


class SharedCase(Case):
    """A Rollout whose TrafficRouting has a problem: its commands are about the TrafficRouting, which may be changed at
    any time.
    """

    edited = "the TrafficRouting"

    def __init__(self, view: RolloutView, program: str, shared: SharedRoutesView) -> None:
        super().__init__(view, program)
        self.reason, self.message, self._routing = shared.reason, shared.problem, shared.name

    def describe(self, purpose: str = "its conditions and Events") -> Remedy:
        """The command that shows the TrafficRouting."""
        return self.kubectl(f"describe trafficrouting {self._routing}", purpose)

    def edit(self, purpose: str = "") -> Remedy:
        """The command that edits the TrafficRouting."""
        return self.kubectl(
            f"edit trafficrouting {self._routing}", purpose or f"correct {self.edited}"
        )

    def names_another(self, purpose: str = "") -> tuple[Remedy, ...]:
        """The command that changes what the TrafficRouting names, and the way back of this release."""
        return self.edit(purpose), *self.back()
