"""Warnings about settings of a Rollout that have another effect than their author may expect.

Invariant: pure and total; a warning begins with the field's name in the written version, and ends with a remedy. It
refuses nothing: `validation` does.
"""

from collections.abc import Iterator

from controller.api.conversion import Unconvertible, converted
from controller.api.jsontree import JsonObject, child, items, text
from controller.api.names import TRAFFIC_ROUTING, V1ALPHA1, V1BETA1
from controller.api.regex import only_pcre


def advice(obj: JsonObject) -> tuple[str, ...]:
    """Warnings about a Rollout (raw JSON, either version)."""
    beta = converted(obj, V1BETA1)
    if isinstance(beta, Unconvertible):
        return ()
    found: list[str] = []
    for name in ("canary", "blueGreen"):
        plan = child(beta, "spec", "strategy", name)
        path = f"spec.strategy.{name}"
        if plan:
            found += _traffic_without_leader(obj, plan, path)
            found += _dialects(plan, path)
    return tuple(found)


def steps_of(plan: JsonObject) -> Iterator[tuple[int, JsonObject]]:
    """The steps with their places."""
    yield from enumerate(map(child, items(plan, "steps")))


def _traffic_without_leader(obj: JsonObject, plan: JsonObject, path: str) -> Iterator[str]:
    """Shares and matches that nothing carries out."""
    shared = plan.get("trafficRoutingRef") or text(obj, "metadata", "annotations", TRAFFIC_ROUTING)
    if items(plan, "trafficRoutings") or shared:
        return
    written = items(child(obj, "spec", "strategy", "canary"), "steps")
    older = text(obj, "apiVersion") == V1ALPHA1
    for index, step in steps_of(plan):
        field = "matches" if items(step, "matches") else "traffic"
        if step.get(field) is None:
            continue
        if older and field == "traffic":
            # A weight says how many pods there are, where replicas do not.
            if index < len(written) and child(written[index]).get("replicas") is None:
                continue
            field = "weight"
        yield (
            f"{path}.steps[{index}].{field}: nothing routes the traffic; name the Service and its gateway object in "
            f"{path}.trafficRoutings, or leave {field} out"
        )


def _dialects(plan: JsonObject, path: str) -> Iterator[str]:
    for place, pattern in patterns_of(plan, path):
        if only_pcre(pattern):
            yield (
                f"{place}: {pattern!r} has look-around, a back reference or a possessive quantifier: NGINX, APISIX and "
                "Kong (PCRE) know them; Istio, Envoy, Traefik and most implementations of the Gateway API (RE2) do not"
            )


def patterns_of(plan: JsonObject, path: str) -> Iterator[tuple[str, str]]:
    """Every regular expression of the steps' matches, with the path of its field."""
    for index, step in steps_of(plan):
        for at, match in enumerate(map(child, items(step, "matches"))):
            place = f"{path}.steps[{index}].matches[{at}]"
            for field in ("headers", "queryParams"):
                for which, value in enumerate(map(child, items(match, field))):
                    if text(value, "type") == "RegularExpression":
                        yield f"{place}.{field}[{which}].value", text(value, "value")
            if text(match, "path", "type") == "RegularExpression":
                yield f"{place}.path.value", text(match, "path", "value")
