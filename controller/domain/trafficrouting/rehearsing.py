"""Before the first pod of a release that joins: run the scripts of its shared routes, and ask whether the API server
accepts the answers.

Why: as for a Rollout's own routes, a refusal would otherwise stop the release after its pods were created in vain. The
TrafficRouting asks, because the plan and the rights are its own; the member waits until it is in `status.members`
(`rollout/routes/shared_routing`). Invariant: only the routes of Services behind which pods of the member are, so an
object that the member does not need never stops it. Must not write.
"""

from msgspec import structs

from controller.api.rollout import MoonshiftStatus
from controller.domain.decision import RehearseRoutes
from controller.domain.trafficrouting.plans import plan_of
from controller.domain.trafficrouting.seen import MemberSeen, TrafficRoutingSeen, is_admitted
from controller.domain.trafficrouting.shared_routes import services_behind


def rehearsals(
    seen: TrafficRoutingSeen, open_routes: tuple[str, ...]
) -> tuple[RehearseRoutes, ...]:
    """One rehearsal for each release that has joined since the last pass; routes that are open have passed it."""
    found = []
    for member in newcomers(seen):
        behind = services_behind(seen, member.pods)
        closed = tuple(service for service in behind if service not in open_routes)
        if closed:
            plan = plan_of(seen, closed)
            release = f"{plan.release} {_release(member)}"
            found.append(RehearseRoutes(structs.replace(plan, release=release)))
    return tuple(found)


def newcomers(seen: TrafficRoutingSeen) -> tuple[MemberSeen, ...]:
    """Members whose present release has not been admitted."""
    known = {member.rollout: member for member in seen.routing.status.members}
    return tuple(
        member
        for member in seen.members
        if (entry := known.get(member.rollout.metadata.name)) is None
        or not is_admitted(entry, member.rollout)
    )


def _release(member: MemberSeen) -> str:
    ours = member.rollout.status.moonshift
    return ours.release if isinstance(ours, MoonshiftStatus) else ""
