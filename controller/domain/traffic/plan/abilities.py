"""The abilities that a step needs from a gateway, in the words of a script's `--@can` line, and the references that
have them.

A step is compared with these words twice: when a Rollout is admitted, and when a release begins, because a script may
have changed in between. A step that a kind cannot express is therefore refused before any pod is created or any traffic
moves. A script without a `--@can` line promises everything. Two kinds may share the work (Consul's splitter has the
shares, its router the matches): when the Rollout names both, one may supply an ability that the other lacks;
`--@siblings` says so. When a step has several gateways and one of them cannot match as the step asks, that gateway
sends the alternatives that it can express to the new revision, or nothing, as long as another gateway can express all.
Invariant: pure; `lint-script` tests the same words.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from controller.api.rollout import HttpRouteMatch, Step
from controller.domain.decision import PartialMatches, Reference
from controller.domain.traffic.plan.header import ScriptHeader
from controller.domain.traffic.plan.script_input import kind_of, params_of
from controller.domain.traffic.plan.traffic_plan import share_of

COOKIE = "canary-by-cookie"
"""The header that stands for a cookie, by the original's convention."""
REGEX = "RegularExpression"

WORDS: Mapping[str, str] = {
    "weight": "divide requests by weight",
    "subpercent": "divide by parts of a percent",
    "header": "match headers",
    "header-regex": "match headers by regular expression",
    "cookie": "match cookies",
    "query": "match query parameters",
    "path": "match paths",
    "method": "match methods",
    "both": "match and divide in one step",
    "header-modifier": "change request headers for the new version",
}
"""The verb for each word of `--@can`, for messages: "Mapping/web cannot match cookies"."""

Abilities = Sequence[tuple[Reference, frozenset[str] | None]]
"""References with the abilities of their scripts; None: all, or not known."""

Headers = Callable[[Reference], ScriptHeader | None]
"""The header of a reference's script; None if there is no script."""


def needs(step: Step, *, both: bool) -> frozenset[str]:
    """The words that a step needs. With `both`, its share counts besides its matches; without, matches replace the
    share.
    """
    words: set[str] = set()
    for match in step.matches:
        words |= _of_match(match)
    share = share_of(step.traffic)
    if share is not None and (both or not step.matches):
        words.add("weight")
        if not share.is_integer():
            words.add("subpercent")
    if step.request_header_modifier is not None and step.routes_traffic:
        words.add("header-modifier")
    return frozenset(words)


def _of_match(match: HttpRouteMatch) -> set[str]:
    words = {"query"} if match.query_params else set()
    if match.path is not None:
        words.add("path")
    if match.method:
        words.add("method")
    for header in match.headers:
        if header.name == COOKIE:
            words.add("cookie")
        else:
            words.add("header-regex" if header.type == REGEX else "header")
    return words


def granted(
    reference: Reference, references: tuple[Reference, ...], headers: Headers
) -> frozenset[str] | None:
    """The abilities of a reference's script, alone or with its siblings; None means everything, or not known."""
    own = headers(reference)
    if own is None or own.can is None:
        return None
    words = own.can
    for other in references:
        header = headers(other) if kind_of(other) in own.siblings else None
        if header is not None and other.stable_service == reference.stable_service:
            words |= header.can if header.can is not None else WORDS.keys()
    return words


def missing_abilities(
    step: Step, reference: Reference, can: frozenset[str] | None
) -> tuple[str, ...]:
    """The parts of the step that this reference cannot express, as verbs; empty if it can express all."""
    if can is None:
        return ()
    both = "both" in can or params_of(reference).get("both") is True
    missing = needs(step, both=both) - can
    return tuple(text for word, text in WORDS.items() if word in missing)


def left_out(step: Step, abilities: Abilities) -> tuple[Reference, ...]:
    """References that send nothing to the new revision at this step: they can express no alternative, another all."""
    parts = [part.reference for part in partial_matches(step, abilities)]
    return tuple(found for found, _ in _unable(step, abilities) if found not in parts)


def partial_matches(step: Step, abilities: Abilities) -> tuple[PartialMatches, ...]:
    """References that can express some alternatives of a step, while another one can express all.

    An Ingress class gets one alternative only: hardly any class has an "or", and only its script knows the exceptions.
    """
    found: list[PartialMatches] = []
    for reference, can in _unable(step, abilities):
        steps = tuple(
            match
            for match in step.matches
            if not missing_abilities(_only(step, match), reference, can)
        )
        if steps and (len(steps) == 1 or not reference.class_type):
            found.append(PartialMatches(reference, steps))
    return tuple(found)


def _only(step: Step, match: HttpRouteMatch) -> Step:
    return msgspec.structs.replace(step, matches=(match,))


def _unable(step: Step, abilities: Abilities) -> Abilities:
    """References that cannot match as the step asks, while another can.

    Empty where no reference can match, and where a reference that cannot match uses one Service for both revisions:
    without its subsets, requests would reach new pods.
    """
    if not step.matches:
        return ()
    cannot = tuple(
        (reference, can) for reference, can in abilities if missing_abilities(step, reference, can)
    )
    some_can = len(cannot) < len(abilities)
    return cannot if some_can and not any(reference.shared for reference, _ in cannot) else ()


def name_of_script(reference: Reference) -> str:
    """The name of the script as a person knows it."""
    if reference.class_type:
        return f"Ingress class {reference.class_type} ({reference})"
    return f"{reference}"
