"""Judges the recorded history: the order of the changes, and whether every route always led to a ready pod.

Why it exists: the right state at a few moments says nothing about the moments between. Invariant: order is the order
of the cluster's own revisions; every recorded revision is judged. It must do no I/O.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from demo.claims import Claim, true
from demo.expectations import BASE_RULE, CANARY_PAGE, CANARY_SUBSETS, HEADER_HTTP, WEIGHTED_HTTP
from demo.place import NAMESPACE
from demo.routes import WHOLE, shares
from demo.world import (
    DEPLOYMENTS,
    DESTINATION_RULES,
    PODS,
    ROLLOUTS,
    SERVICES,
    VIRTUAL_SERVICES,
    State,
    find,
    has_succeeded,
    home_page,
    is_ready,
    labels_of,
    pods,
    rollout_phase,
)
from localcluster.api import JsonObject
from localcluster.history import Change, Key, Kind

ROUTING_KINDS = (VIRTUAL_SERVICES, DESTINATION_RULES, PODS, SERVICES)
Test = Callable[[JsonObject], bool]


def judge(changes: Iterable[Change]) -> list[Claim]:
    """Return the claims about a whole history, given in order of revision."""
    history = [change for change in changes if change.key.namespace == NAMESPACE]
    subset = _first(history, DESTINATION_RULES, lambda o: _subsets(o) == CANARY_SUBSETS)
    weights = _first(history, VIRTUAL_SERVICES, lambda o: _http(o) == WEIGHTED_HTTP)
    header = _first(history, VIRTUAL_SERVICES, lambda o: _http(o) == HEADER_HTTP, weights)
    upgraded = _first(history, PODS, _is_upgraded_pod, header)
    restored = _first(history, VIRTUAL_SERVICES, lambda o: _http(o) == [BASE_RULE], header)
    removed = _first(
        history, DESTINATION_RULES, lambda o: _subsets(o) == CANARY_SUBSETS[:1], subset
    )
    emptied = _first(history, PODS, _is_leaving_canary_pod, header)
    return [
        _before("the subset was there before the route that names it", subset, weights),
        _before(
            "the stable Deployment's new pod was ready before the routes went back",
            upgraded,
            restored,
        ),
        _before("the route went before the subset that it named", restored, removed),
        _before("the canary pod went after the routes that led to it", restored, emptied),
        _every_route_led_to_a_ready_pod(history),
    ]


def timeline(changes: Iterable[Change]) -> Iterator[tuple[int, str]]:
    """Yield the changes of routes, pods and Deployments: the cluster's revision, and the change in words."""
    last_text: dict[Key, str] = {}
    for change in changes:
        text = _change_text(change)
        if text and last_text.get(change.key) != text:
            last_text[change.key] = text
            yield change.resource_version, text


def routes_to_nobody(state: State) -> list[str]:
    """The routes of the VirtualService that lead to no ready pod, in words."""
    rules = _http(find(state, VIRTUAL_SERVICES, "nginx-vs"))
    entries = [entry for rule in rules for entry in rule.get("route", ())]
    wanted = [entry["destination"] for entry in entries if entry.get("weight", 100) > 0]
    return [
        f"{destination['host']}/{destination.get('subset', '')}"
        for destination in wanted
        if not _serving(state, destination)
    ]


def _serving(state: State, destination: JsonObject) -> list[JsonObject]:
    """The ready pods that a destination leads to."""
    service = find(state, SERVICES, destination["host"])
    selector = dict(service.get("spec", {}).get("selector") or {"": "no such Service"})
    name = destination.get("subset")
    if name:
        subsets = _subsets(find(state, DESTINATION_RULES, "nginx-dr"))
        found = next((s["labels"] for s in subsets if s["name"] == name), None)
        if found is None:
            return []
        selector |= found
    return [
        pod for pod in pods(state) if is_ready(pod) and selector.items() <= labels_of(pod).items()
    ]


def _every_route_led_to_a_ready_pod(history: list[Change]) -> Claim:
    state: dict[Key, JsonObject] = {}
    judged, wrong = 0, []
    begun = False
    for change in history:
        if change.type == "DELETED":
            state.pop(change.key, None)
        else:
            state[change.key] = change.object
        # From the moment the application is first complete: before, its own objects are still being applied.
        begun = begun or (
            find(state, VIRTUAL_SERVICES, "nginx-vs") != {} and not routes_to_nobody(state)
        )
        if begun and change.key.kind in ROUTING_KINDS:
            judged += 1
            wrong += [f"revision {change.resource_version}: {to}" for to in routes_to_nobody(state)]
    text = f"at each of {judged} revisions every route led to a ready pod of its subset"
    return true(text, judged > 0 and not wrong, "\n".join(wrong) or "nothing was recorded")


def _first(history: list[Change], kind: Kind, test: Test, after: int | None = 0) -> int | None:
    """The revision of the first change of a kind that passes a test, after another one."""
    if after is None:
        return None
    for change in history:
        if change.key.kind == kind and change.resource_version > after:
            gone = change.type == "DELETED"
            if test({**change.object, "gone": gone}):
                return change.resource_version
    return None


def _before(text: str, earlier: int | None, later: int | None) -> Claim:
    if earlier is None or later is None:
        return Claim(text, "one of the two never happened")
    return true(
        f"{text} (revisions {earlier}, {later})", earlier < later, f"{earlier} is after {later}"
    )


def _http(virtual_service: JsonObject) -> list[Any]:
    return list(virtual_service.get("spec", {}).get("http") or ())


def _subsets(destination_rule: JsonObject) -> list[Any]:
    return list(destination_rule.get("spec", {}).get("subsets") or ())


def _is_upgraded_pod(pod: JsonObject) -> bool:
    base = labels_of(pod).get("version") == "base"
    return base and home_page(pod) == CANARY_PAGE and is_ready(pod)


def _is_leaving_canary_pod(pod: JsonObject) -> bool:
    leaving = pod["gone"] or "deletionTimestamp" in pod["metadata"]
    return bool(leaving and labels_of(pod).get("version") == "canary")


def _change_text(change: Change) -> str:
    body, kind, name = change.object, change.key.kind, change.key.name
    if kind == PODS:
        leaving = change.type == "DELETED" or "deletionTimestamp" in body["metadata"]
        news = "leaves" if leaving else "is ready" if is_ready(body) else ""
        page = home_page(body).removeprefix("nginx-configmap-")
        return news and f"pod {name} ({page} page) {news}"
    if kind == VIRTUAL_SERVICES:
        return f"VirtualService: {_describe_http(_http(body))}"
    if kind == DESTINATION_RULES:
        return f"DestinationRule: subsets {', '.join(s['name'] for s in _subsets(body))}"
    if kind == ROLLOUTS:
        return _rollout_text(body)
    if kind == DEPLOYMENTS and change.type in ("ADDED", "DELETED"):
        return f"Deployment {name} is {'made' if change.type == 'ADDED' else 'gone'}"
    return ""


def _rollout_text(rollout: JsonObject) -> str:
    if has_succeeded(rollout):
        return "Rollout: the release has succeeded"
    if rollout_phase(rollout) != "Progressing":
        return ""
    canary = rollout["status"].get("canaryStatus") or {}
    state = canary.get("currentStepState")
    return f"Rollout: step {canary.get('currentStepIndex')} {state}" if state else ""


def _describe_http(rules: list[Any]) -> str:
    """The http rules of a VirtualService in a few words."""
    parts_of_text = []
    for rule in rules:
        parts = list(shares([rule]))
        to = ", ".join(
            share.subset if share.percent == WHOLE else f"{share.percent} % {share.subset}"
            for share in parts
        )
        parts_of_text.append(f"{parts[0].when or 'requests'} → {to}")
    return "; ".join(parts_of_text) or "no rule"
