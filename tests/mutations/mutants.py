"""All deliberate defects of the product, and the defects that random releases find without a named test."""

from tests.mutations.of_checks import OF_CHECKS
from tests.mutations.of_connections import OF_CONNECTIONS
from tests.mutations.of_doors import OF_DOORS
from tests.mutations.of_effects import OF_EFFECTS
from tests.mutations.of_ends import OF_ENDS
from tests.mutations.of_judgement import OF_JUDGEMENT
from tests.mutations.of_notifications import OF_NOTIFICATIONS
from tests.mutations.of_pods import OF_PODS
from tests.mutations.of_promises import OF_PROMISES
from tests.mutations.of_releases import OF_RELEASES
from tests.mutations.of_workers import OF_WORKERS

MUTATIONS = (
    *OF_RELEASES,
    *OF_ENDS,
    *OF_PODS,
    *OF_CHECKS,
    *OF_JUDGEMENT,
    *OF_EFFECTS,
    *OF_CONNECTIONS,
    *OF_DOORS,
    *OF_WORKERS,
    *OF_PROMISES,
    *OF_NOTIFICATIONS,
)

FOUND_BY_THE_MACHINE = frozenset(
    {
        "a third revision is not noticed",
        "a third revision is not noticed in the end phase",
        "a workload made again counts as the same",
        "an approval that is reset stays in the mailbox",
        "a deleted Rollout goes at once",
        "success upgrades the workload behind a pinned Service",
        "the stable Service is never pinned",
        "the admission pause is not ended",
        "a deleted Rollout leaves its label behind",
        "old pods go before new ones are ready",
    }
)
"""Mutations that random releases find without a test that is about them."""
