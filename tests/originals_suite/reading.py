"""The output of the suite's program, as values: the list of specs, and the end of one.

Why it exists: the old ginkgo of the suite has no list in a form for programs. Invariant: pure; a text without a
failure gives an empty answer, never a guess.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

PLACE = re.compile(r"/([a-z0-9_]+_test\.go:\d+)$")
BORDER = "-" * 30
TAG = re.compile(r"\[(?:rollouts|kruise\.io)\] ")
LONGEST_REASON = 240


@dataclass(frozen=True, slots=True)
class Spec:
    """One spec: the words around it, its own words, and where it is written (file:line)."""

    group: str
    text: str
    place: str

    @property
    def full_name(self) -> str:
        """The text that a focus is compared with."""
        return f"{self.group} {self.text}"

    @property
    def focus(self) -> str:
        """A regular expression that this spec alone matches."""
        return re.escape(self.full_name) + "$"

    @property
    def group_title(self) -> str:
        """The words around it, without tags."""
        return TAG.sub("", self.group)


def specs(listing: str) -> Iterator[Spec]:
    """Read the output of a dry run, in its order."""
    lines = listing.splitlines()
    for group, text, place in zip(lines, lines[1:], lines[2:], strict=False):
        found = PLACE.search(place)
        if found and group.startswith("[") and text.startswith("  "):
            yield Spec(group.strip(), text.strip(), found[1])


def reason_of(output: str) -> str:
    """Say where the first failed expectation is written and what it said; empty if none failed."""
    begun = re.search(r"^• Failure.*$|^•! Panic.*$|^• Failure in Spec.*$", output, re.MULTILINE)
    if begun is None:
        return ""
    lines = output[begun.end() :].split(BORDER)[0].splitlines()
    at = [found[1] for line in lines if (found := PLACE.search(line.rstrip()))]
    strings = [
        line.strip() for line in lines[4:] if line.strip() and not PLACE.search(line.rstrip())
    ]
    text = " ".join(strings)
    shown = text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]} …"
    return f"{at[-1] if at else '?'}: {shown}"
