"""A server with the objects of `leading`, scripts for them, and the part that leads them."""

import pytest

from controller.effects.gateways import GatewayRoutes

from . import world
from .leading import DR, VS, rules
from .world import ObjectServer, Scripts, split, subset


@pytest.fixture
def server() -> ObjectServer:
    made = ObjectServer()
    made.put(*VS, rules(), annotations={"team": "a"})
    made.put(*DR, {"host": "web", "subsets": [{"name": "base", "labels": {"version": "base"}}]})
    return made


@pytest.fixture
def scripts() -> Scripts:
    made = Scripts()
    made.add("VirtualService", split, world.AFTER_RULE)
    made.add("DestinationRule", subset)
    return made


@pytest.fixture
def routes(server: ObjectServer, scripts: Scripts) -> GatewayRoutes:
    return GatewayRoutes(server, scripts, scripts)
