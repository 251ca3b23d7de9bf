"""Two gateway objects under release, and functions that read their present content."""

import json
from typing import Any

from controller.domain.decision import NotYet, Outcome, Refusal
from controller.domain.observation import RoutePresent
from controller.domain.traffic.drift.object_state import see_route
from controller.effects.gateways import GatewayRoutes

from .world import ObjectServer, plan, references

VS, DR = ("VirtualService", "web"), ("DestinationRule", "web")
ONE = references(VS)
BOTH = references(VS, DR, shared=True)


def rules() -> dict[str, Any]:
    return {
        "hosts": ["web.example.com"],
        "http": [
            {
                "match": [{"uri": {"prefix": "/admin"}}],
                "route": [{"destination": {"host": "admin"}}],
            },
            {"route": [{"destination": {"host": "web"}}]},
        ],
    }


def state(server: ObjectServer, reference: Any = ONE[0]) -> RoutePresent:
    seen = see_route(reference, json.dumps(server.objects[reference.kind, reference.name]).encode())
    assert isinstance(seen, RoutePresent)
    return seen


def weights(server: ObjectServer) -> list[int]:
    return [entry["weight"] for entry in server.spec(*VS)["http"][-1]["route"]]


async def led(routes: GatewayRoutes, wanted: Any) -> Outcome:
    """Write the plan in as many passes as it needs, each after the wait of the one before."""
    outcome = await routes.ensure(wanted)
    for _ in BOTH:
        if isinstance(outcome, NotYet):
            outcome = await routes.ensure(wanted)
    return outcome


async def refused(routes: GatewayRoutes, wanted: Any = None) -> Refusal:
    outcome = await routes.ensure(wanted or plan(ONE))
    assert isinstance(outcome, Refusal)
    return outcome
