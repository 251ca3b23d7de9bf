"""Facts of the release for a script that asks.

Invariant: pure; a fact without a value is absent, never an empty text.
"""

from collections.abc import Mapping

from controller.domain.traffic.tree import Tree


def about_release(words: Mapping[str, str], side: str) -> Tree:
    """Facts of the release and of the side that is asked, canary or stable."""
    release: Tree = {
        "rollout": words.get("rollout", ""),
        "namespace": words.get("namespace", ""),
        "revision": words.get("canary.revision", ""),
        "stableRevision": words.get("stable.revision", ""),
        "step": _number(words.get("step", "")),
        "weight": _number(words.get("weight", "")),
    }
    return _without_absent(
        {
            "service": words.get(f"{side}.service", ""),
            "revision": words.get(f"{side}.revision", ""),
            "release": _without_absent(release),
        }
    )


def _without_absent(facts: Tree) -> Tree:
    return {name: value for name, value in facts.items() if value not in ("", None)}


def _number(text: str) -> float | None:
    """A number of a step; whole ones stay whole."""
    return int(text) if text.isascii() and text.isdecimal() else None
