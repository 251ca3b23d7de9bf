"""The troubles, a file for each family."""

from tests.trouble.rows import (
    approvals,
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
    *rollouts.TROUBLES,
    *manifests.TROUBLES,
    *approvals.TROUBLES,
    *starting.TROUBLES,
    *scaling.TROUBLES,
    *nodes.TROUBLES,
    *pods.TROUBLES,
    *routes.TROUBLES,
    *parts.TROUBLES,
)
