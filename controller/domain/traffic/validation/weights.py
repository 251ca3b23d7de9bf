"""Validates the weights in a script's answer.

A list with numeric `weight`s divides requests. Each weight is a number from 0 up; the weights of a list of several
elements have the sum that the original had for such a list, or 100, or a hundred times either (for shares that do not
divide evenly).
Invariant: weights that the original has already are never refused. A single destination gets all requests, whatever its
weight.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import TypeGuard

from controller.domain.traffic.hosts import destinations_in
from controller.domain.traffic.tree import Json

FACTORS = frozenset({1.0, 100.0})
_PERCENT = 100
_NEARLY = 1e-6


def _lists(value: Json, path: str) -> Iterator[tuple[str, list[dict[str, Json]]]]:
    """Every list of objects of which some carry a `weight`, with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lists(item, f"{path}.{key}")
    elif isinstance(value, list):
        objects = [item for item in value if isinstance(item, dict)]
        if objects and any(_is_number(item.get("weight")) for item in objects):
            yield path, objects
        for index, item in enumerate(value):
            yield from _lists(item, f"{path}[{index}]")


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _sum(objects: list[dict[str, Json]], absent: int) -> float:
    weights = (item.get("weight", absent) for item in objects)
    return float(sum(weight for weight in weights if _is_number(weight)))


def _destination_lists(value: Json) -> Iterator[list[dict[str, Json]]]:
    """Every list of objects: in the original, weights may not be written out."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _destination_lists(item)
    elif isinstance(value, list):
        objects = [item for item in value if isinstance(item, dict)]
        if objects:
            yield objects
        for item in value:
            yield from _destination_lists(item)


def _allowed(original: Json, factors: frozenset[float]) -> list[float]:
    """Sums an answer may have, in order. An absent weight counts as 0 on some gateways, as 1 or 100 on others."""
    sums = {float(_PERCENT)}
    for objects in _destination_lists(original):
        sums |= {_sum(objects, absent) for absent in (1, _PERCENT)}
        if any(_is_number(item.get("weight")) for item in objects):
            sums.add(_sum(objects, 0))
    return sorted({total * factor for total in sums for factor in factors})


def _is_near(total: float, allowed: list[float]) -> bool:
    """Whether a sum is one of these; an object may have as many as it has lists."""
    at = bisect_left(allowed, total)
    return any(abs(total - each) < _NEARLY for each in allowed[max(0, at - 1) : at + 1])


def _are_rules(objects: list[dict[str, Json]]) -> bool:
    """Each element divides requests itself (a pool with its alternate backends), so their weights have no sum."""
    return any(next(_lists(value, ""), None) for item in objects for value in item.values())


def weight_violation(answer: Json, original: Json, factors: frozenset[float] = FACTORS) -> str:
    """The violation in the weights of `answer`, in words, or an empty string.

    `factors` are the numbers by which a sum may be multiplied, for shares that do not divide evenly.
    """
    allowed = _allowed(original, factors)
    known = set(destinations_in(original))
    for path, objects in _lists(answer, "spec"):
        for item in objects:
            weight = item.get("weight", 0)
            if not _is_number(weight) or weight < 0:
                return f"{path} has the weight {weight}, which is no number from 0 up"
        total = _sum(objects, 0)
        # A list with new destinations only is a copy for the new revision: its weights are shares of each other.
        named = {*destinations_in([*objects]), *destinations_in({"backendRefs": [*objects]})}
        copied = total > 0 and known.isdisjoint(named)
        right = _is_near(total, allowed)
        if len(objects) > 1 and not copied and not right and not _are_rules(objects):
            return f"the weights of {path} add up to {total:g}, neither to 100 nor to what the original had"
    return ""
