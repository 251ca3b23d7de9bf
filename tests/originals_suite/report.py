"""The result of a run: a table of all specs, and whether all required specs passed.

Invariant: pure but for `print`; a spec that passes although it is in the table of differences is reported, too, because
the table of differences is then wrong. It must not run anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from tests.originals_suite.differences import DIFFERENCES
from tests.originals_suite.running import Outcome

PASSED, AGAIN, FAILED, CHOSEN, STALE = (
    "passed",
    "passed when tried again",
    "FAILED",
    "different on purpose",
    "PASSED, THOUGH IT IS WRITTEN DOWN AS DIFFERENT",
)


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes of the requested specs, and the number of all specs."""

    outcomes: tuple[Outcome, ...]
    in_all: int
    differences: Mapping[str, str]

    @classmethod
    def of(cls, outcomes: list[Outcome], in_all: int) -> "Report":
        """Return the report against the differences that are written down."""
        return cls(tuple(outcomes), in_all, DIFFERENCES)

    @property
    def passed(self) -> int:
        """How many passed."""
        return sum(outcome.passed for outcome in self.outcomes)

    @property
    def surprises(self) -> tuple[Outcome, ...]:
        """Specs that failed and have to pass, or the other way round."""
        return tuple(o for o in self.outcomes if self.verdict(o) in (FAILED, STALE))

    def verdict(self, outcome: Outcome) -> str:
        """The state of a spec in words."""
        if outcome.spec.place in self.differences:
            return STALE if outcome.passed else CHOSEN
        if not outcome.passed:
            return FAILED
        return AGAIN if outcome.attempts > 1 else PASSED

    def summary(self) -> str:
        """Say the numbers in one line."""
        chosen = sum(self.verdict(outcome) == CHOSEN for outcome in self.outcomes)
        again = sum(self.verdict(outcome) == AGAIN for outcome in self.outcomes)
        return (
            f"{self.passed} of {len(self.outcomes)} passed ({again} of them when tried again), "
            f"{chosen} are different on purpose, {len(self.surprises)} surprises; "
            f"the suite has {self.in_all} specs"
        )

    def print(self) -> None:
        """Write the table to standard output."""
        table = Table("spec", "place", "", "s", "why")
        for outcome in self.outcomes:
            spec = outcome.spec
            table.add_row(
                f"{spec.group_title}: {spec.text}",
                spec.place,
                self.verdict(outcome),
                f"{outcome.seconds:.0f}",
                self.differences.get(spec.place, outcome.why),
            )
        console = Console()
        console.print(table)
        console.print(self.summary(), highlight=False, soft_wrap=True)
