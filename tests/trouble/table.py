"""The parts of the table of troubles: a trouble, its rows, the sentences of each, and the forms it is played in.

Invariant: a test plays a row and the document prints it, from one value. The column "what happens" is the docstring of
the scenario that asserts it; the messages are patterns that must match the run; the scenario runs the commands.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.trouble.forms import FORMS, Form

HOLE = re.compile(r"<[^<>]+>")
"""A part of a sentence or a command that differs from run to run."""


def pattern_of(text: str) -> re.Pattern[str]:
    """A pattern for the whole text, with any text in its holes."""
    parts = (re.escape(part) for part in HOLE.split(text))
    return re.compile(".+?".join(parts), re.DOTALL)


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence, and where it is read: a condition, `message`, an Event's reason, `refused`, `warned`, `printed`."""

    where: str
    text: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """A pattern for the whole message."""
        return pattern_of(self.text)

    def same_as(self, heard: "Message") -> bool:
        """Whether the recorded message matches, and was read in the same place."""
        where = pattern_of(self.where).fullmatch(heard.where)
        return where is not None and self.pattern.fullmatch(heard.text) is not None


Scenario = Callable[[Any], Awaitable[None]]
"""Takes a `Scene`; the document prints its docstring."""


@dataclass(frozen=True, slots=True)
class Row:
    """One answer to a trouble, for some forms."""

    scenario: Scenario
    says: tuple[Message, ...]
    do: tuple[str, ...]
    """Commands that the scenario runs; or, without a leading `kubectl`, why there is nothing to do."""
    played: tuple[Form, ...]
    often: tuple[Form, ...] = ()
    """The forms of `played` that are part of every run; `make test-full` plays the others."""
    alone: bool = False
    """It changes state that all namespaces share, so it is played alone, after all others."""
    killed: tuple[Form, ...] = ()
    """The forms of `played` that are played again, with the controller killed at the worst moment."""
    derived: Mapping[tuple[Form, ...], str] = field(default_factory=dict)
    """Forms that are not played, with the reason why the row holds for them."""
    why: tuple[str, ...] = ()
    """The lines that `kubectl moonshift why shop` prints at the worst moment, without the lines of the stalls in
    `says` and without the padding before `#`. Empty: the scenario does not run `why`."""

    @property
    def asked(self) -> Form:
        """The form for which `why` is run: its output is the same for all."""
        return (*self.often, *self.played)[0]

    @property
    def explained(self) -> tuple[str, ...]:
        """All lines that `why` has to print."""
        stalls = [item for item in self.says if item.where.startswith("Stalled ")]
        found = [
            f"is stalled by {item.where.removeprefix('Stalled ')}: {item.text}" for item in stalls
        ]
        return (*found, *self.why) if self.why else ()

    @property
    def happens(self) -> str:
        """The event, in a sentence or two."""
        return " ".join(inspect.getdoc(self.scenario).split())  # type: ignore[union-attr] # a test sees to it

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that a person types."""
        return tuple(text for text in self.do if text.startswith("kubectl "))

    @property
    def forms(self) -> tuple[Form, ...]:
        """Every form it is the answer for."""
        return (*self.played, *(form for forms in self.derived for form in forms))


@dataclass(frozen=True, slots=True)
class Trouble:
    """A kind of trouble, and the rows that answer it for every form."""

    name: str
    title: str
    rows: tuple[Row, ...]
    except_for: Mapping[tuple[Form, ...], str] = field(default_factory=dict)
    """Forms that cannot have this trouble, with the reason."""

    @property
    def missing(self) -> tuple[Form, ...]:
        """Forms without a row or a reason."""
        known = {form for row in self.rows for form in row.forms}
        known |= {form for forms in self.except_for for form in forms}
        return tuple(form for form in FORMS if form not in known)


@dataclass(frozen=True, slots=True)
class Case:
    """One row played for one form."""

    trouble: Trouble
    row: Row
    form: Form

    @property
    def title(self) -> str:
        """The name of the test case."""
        reported = self.row.scenario.__name__.replace("_", " ")
        return f"{self.trouble.name}: {self.form.name}: {reported}"

    @property
    def often(self) -> bool:
        """Part of every run."""
        return self.form in self.row.often


def cases_of(troubles: tuple[Trouble, ...]) -> Iterator[Case]:
    """Everything that is played."""
    for trouble in troubles:
        for row in trouble.rows:
            for form in row.played:
                yield Case(trouble, row, form)
