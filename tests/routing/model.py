"""Requests, and the probability with which each Service answers them.

Why it exists: a gateway object is correct if it routes requests correctly, whatever its content looks like.
Invariant: shares are exact fractions; a request that nobody answers has none. Every family of gateways has a
simulator of its own here, written from the gateway's documentation and not from our scripts: (spec, request) → shares
by Service.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Tree = Mapping[str, Any]
Shares = dict[str, Fraction]
HOST = "web.example.com"


@dataclass(frozen=True)
class Request:
    """One request; header names are lower case."""

    path: str = "/"
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    host: str = HOST

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies of the header."""
        pairs = (part.split("=", 1) for part in self.headers.get("cookie", "").split("; ") if part)
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


Simulator = Callable[[Tree, Request], Shares]


@dataclass(frozen=True)
class Served:
    """The fate of a request: the Services that answer, the path under which it gets there, and the filters."""

    shares: Shares
    path: str
    filters: Any = None


Judge = Callable[[Tree, Request], Served | None]


def with_letters(path: str, prefix: str, text: str) -> str:
    """A prefix replaced as Envoy does it: letters for letters."""
    return text + path[len(prefix) :]


def with_parts(path: str, prefix: str, text: str) -> str:
    """A prefix replaced as the Gateway API does it: one slash between the parts."""
    return text.rstrip("/") + path[len(prefix.rstrip("/")) :] or "/"


def divided(weights: Iterable[tuple[str, int | float | Fraction]]) -> Shares:
    """Return shares by weight; a name without a weight has no share."""
    counts: Counter[str] = Counter()
    for name, weight in weights:
        counts[name] += Fraction(weight)  # type: ignore[assignment] # a Counter adds up any number
    whole = sum(counts.values())
    return {name: Fraction(part) / whole for name, part in counts.items() if part}


def below(prefix: str, path: str) -> bool:
    """The path is the prefix or continues it after a slash."""
    bare = prefix.rstrip("/")
    return path == bare or path.startswith(f"{bare}/")


def whole(pattern: str, value: str | None) -> bool:
    """An expression that has to fit the whole value (RE2 in Envoy's proxies)."""
    return value is not None and re.fullmatch(pattern, value) is not None


def within(pattern: str, value: str | None) -> bool:
    """An expression that has to be found in the value (PCRE, Go)."""
    return value is not None and re.search(pattern, value) is not None
