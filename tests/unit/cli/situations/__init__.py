"""Releases that do not go on, each with the commands that `why` offers there."""

from tests.unit.cli.situations import checks, gates, pods, routes, services, workloads
from tests.unit.cli.situations.situation import Situation

SITUATIONS: dict[str, Situation] = {
    **workloads.SITUATIONS,
    **pods.SITUATIONS,
    **services.SITUATIONS,
    **routes.SITUATIONS,
    **gates.SITUATIONS,
    **checks.SITUATIONS,
}
