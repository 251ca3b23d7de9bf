"""The troubles, a file for each family."""

from tests.trouble.rows import (
    applying,
    approvals,
    ends,
    manifests,
    nodes,
    parts,
    pods,
    rollouts,
    routes,
    scaling,
    starting,
)
from tests.trouble.table import Trouble

TROUBLES: tuple[Trouble, ...] = (
    *applying.TROUBLES,
    *rollouts.TROUBLES,
    *manifests.TROUBLES,
    *approvals.TROUBLES,
    *starting.TROUBLES,
    *scaling.TROUBLES,
    *ends.TROUBLES,
    *nodes.TROUBLES,
    *pods.TROUBLES,
    *routes.TROUBLES,
    *parts.TROUBLES,
)
