"""The Rollouts of a command line: NAME, TYPE/NAME, or TYPE NAME …, as kubectl reads them.

Invariant: only Rollouts of our own API group count, even if other kinds of the cluster are called rollout, too.
"""

from collections.abc import Sequence

import click

from controller.api.names import GROUP

TYPES = frozenset(
    {
        "rollout",
        "rollouts",
        "ro",
        *(f"{word}.{GROUP}" for word in ("rollout", "rollouts")),
        *(
            f"{word}.{version}.{GROUP}"
            for word in ("rollout", "rollouts")
            for version in ("v1beta1", "v1alpha1")
        ),
    }
)
"""Words for a Rollout, lower case."""


def is_type(word: str) -> bool:
    """The word means the kind, not an object."""
    return word.lower() in TYPES


def rollout_names(words: Sequence[str]) -> tuple[str, ...]:
    """Names of the Rollouts meant, each once, in order."""
    if len(words) > 1 and is_type(words[0]):
        words = words[1:]
    return tuple(dict.fromkeys(_name(word) for word in words))


def one_rollout(words: Sequence[str]) -> str:
    """The one Rollout meant."""
    found = rollout_names(words)
    if len(found) != 1:
        raise click.UsageError(f"one Rollout was expected, got {len(found)}: {' '.join(found)}")
    return found[0]


def _name(word: str) -> str:
    if not word:
        raise click.UsageError("the NAME is empty: is the variable set that should hold it?")
    kind, slash, name = word.partition("/")
    if not slash:
        return word
    if not is_type(kind):
        raise click.UsageError(
            f"{word}: {kind} is not a Rollout; write rollout/NAME or NAME (for workloads there is kubectl rollout)"
        )
    if not name or "/" in name:
        raise click.UsageError(f"{word}: write it as rollout/NAME")
    return name
