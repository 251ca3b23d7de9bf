"""Makes gateway objects follow a plan, and restores them."""

from controller.effects.gateways.contracts import GatewayObjects, Scope, ScriptRunner, ScriptSource
from controller.effects.gateways.kube_objects import KubeGatewayObjects
from controller.effects.gateways.library import ConfiguredScripts
from controller.effects.gateways.routes import GatewayRoutes

__all__ = [
    "ConfiguredScripts",
    "GatewayObjects",
    "GatewayRoutes",
    "KubeGatewayObjects",
    "Scope",
    "ScriptRunner",
    "ScriptSource",
]
