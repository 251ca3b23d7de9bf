"""The scripts of gateway objects in an observation: their headers, the places without one, and the gateways' verdicts.

A verdict on an object comes from its script's second chunk.

Invariant: nothing is asked here; a verdict is one that an effect remembered. Must not run a script.
"""

from collections.abc import Callable

from msgspec import structs

from controller.domain.decision import Reference
from controller.domain.decision.taken import Asked, NotAsked
from controller.domain.observation import RoutePresent, RouteSeen
from controller.domain.traffic.plan.header import ScriptHeader

Missing = Callable[[Reference], str]
"""The places where a reference's script was not found; empty if there is one."""
VerdictAbout = Callable[[Reference, str, str, str], Asked]
"""The verdict about a reference's object, in a namespace and a version, by the script with an identity."""


def unknown_header(_: Reference) -> None:
    """Used where scripts are not known."""


def nothing_missing(_: Reference) -> str:
    """Used where scripts are not known."""
    return ""


def nobody_asked(_: Reference, _namespace: str, _version: str, _script: str) -> Asked:
    """Used where scripts are not run."""
    return NotAsked()


def with_verdict(
    seen: RouteSeen, header: ScriptHeader | None, namespace: str, verdict_about: VerdictAbout
) -> RouteSeen:
    """The route with what its gateway says about it, where the script can read that and somebody reports."""
    state = seen.state
    if header is None or not header.taken or not isinstance(state, RoutePresent):
        return seen
    if not state.reported:
        return seen
    taken = verdict_about(seen.reference, namespace, state.reported, header.taken)
    return structs.replace(seen, taken=taken)
