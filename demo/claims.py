"""One statement about the cluster, and the facts that contradict it.

Invariant: a claim is true exactly if its contradiction is empty. It must do no I/O.
"""

import difflib
from dataclasses import dataclass
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence; `contradiction` is empty if it is true."""

    text: str
    contradiction: str = ""

    @property
    def holds(self) -> bool:
        """Whether the sentence is true."""
        return not self.contradiction


def equal(text: str, found: Any, expected: Any) -> Claim:
    """Claim that two trees are the same; the contradiction is their difference as YAML."""
    if found == expected:
        return Claim(text)
    lines = difflib.unified_diff(
        as_yaml(expected), as_yaml(found), "expected", "found", lineterm="", n=2
    )
    return Claim(text, "\n".join(lines) or f"expected {expected!r}, found {found!r}")


def true(text: str, condition: bool, otherwise: str) -> Claim:
    """Claim a condition; `otherwise` describes the real state if the claim is false."""
    return Claim(text, "" if condition else otherwise or "it is not so")


def as_yaml(tree: Any) -> list[str]:
    """A tree as lines of YAML."""
    return yaml.safe_dump(tree, sort_keys=False, default_flow_style=False).splitlines()
