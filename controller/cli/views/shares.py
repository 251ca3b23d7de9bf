"""Weights in a gateway object, for people: `web 80, web-canary 20`.

Recognised by shape, for every kind, by the controller's own rules; a list without weights is not shown.
"""

from collections.abc import Iterator

from controller.domain.traffic.hosts import destinations_in
from controller.domain.traffic.tree import Json


def shares_in(value: Json) -> tuple[str, ...]:
    """Every list of weighted destinations, in order."""
    return tuple(_shares(value))


def _shares(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _shares(item)
    elif isinstance(value, list):
        weighted = [item for item in value if isinstance(item, dict) and _weighs(item)]
        if weighted:
            yield ", ".join(f"{_name(item)} {item.get('weight')}" for item in weighted)
        for item in value:
            yield from _shares(item)


def _weighs(item: dict[str, Json]) -> bool:
    weight = item.get("weight")
    return isinstance(weight, (int, float)) and not isinstance(weight, bool)


def _name(item: dict[str, Json]) -> str:
    for destination in destinations_in(item):
        return str(destination)
    for key in ("name", "serviceName", "host", "service"):
        if isinstance(found := item.get(key), str):
            return found
    return "?"
