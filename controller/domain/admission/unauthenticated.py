"""Warns of a Service whose annotations authenticate requests that a step's share would let through without.

Why: the AWS load balancer controller reads `auth-*` of a Service only for an action with exactly one target group. A
share makes it two, so all requests of the path would reach both versions unauthenticated. A script does not see the
Service. Invariant: pure; a Service that could not be read is no reason.
"""

from collections.abc import Mapping, Sequence

from controller.api.networking import Service
from controller.domain.admission.named import SERVICE, Named
from controller.domain.admission.surroundings import Seen

AUTHENTICATION = "alb.ingress.kubernetes.io/auth-"


def unauthenticated(
    named: Sequence[Named], seen: Mapping[Named, Seen], namespace: str
) -> tuple[str, ...]:
    """One text for each Service of an Ingress that has such annotations."""
    behind = {one.service for one in named if one.kind == "Ingress"}
    return tuple(
        f"{one.path}: Service {namespace}/{one.name} has annotations {AUTHENTICATION}*, which the AWS load balancer "
        "controller does not read for an action with two target groups: at a step with traffic, requests would reach "
        "both versions without authentication; move these annotations to the Ingress"
        for one in named
        if (one.api_version, one.kind) == SERVICE
        and one.name in behind
        and isinstance(found := seen.get(one), Service)
        and any(name.startswith(AUTHENTICATION) for name in found.metadata.annotations)
    )
