"""What a step asks of a gateway, in the words of a script's `--@can` line, and who can say it.

The words are held against each other twice: when a Rollout is admitted, and when a release begins (a script may have
changed in between), so that a step which a kind cannot say is refused before any pod is made and any traffic moves.
A script without a `--@can` line promises everything. Where two kinds share the work (Consul's splitter has the shares,
its router the matches) and the Rollout names both, what one cannot say the other may: `--@siblings` tells. Of several
gateways, one that cannot match as a step asks sends the new revision nothing there, as long as another one can.
Invariant: pure; the same words that `lint-script` puts to the test.
"""

from collections.abc import Callable, Mapping, Sequence

from controller.api.rollout import HttpRouteMatch, Step
from controller.domain.decision import Reference
from controller.domain.traffic.header import ScriptHeader
from controller.domain.traffic.plan import share_of
from controller.domain.traffic.scripts import kind_of, params_of

COOKIE = "canary-by-cookie"
"""The header that stands for a cookie, by the original's convention."""
REGEX = "RegularExpression"

WORDS: Mapping[str, str] = {
    "weight": "divide requests by weight",
    "subpercent": "say parts of a percent",
    "header": "match headers",
    "header-regex": "match headers by regular expression",
    "cookie": "match cookies",
    "query": "match query parameters",
    "path": "match paths",
    "method": "match methods",
    "both": "match and divide in one step",
    "header-modifier": "change request headers for the new version",
}
"""What a gateway is asked to do, by word."""

Headers = Callable[[Reference], ScriptHeader | None]
"""The header of a reference's script; None where there is no script."""


def needs(step: Step, *, both: bool) -> frozenset[str]:
    """The words a step needs. `both` says that its share counts besides its matches; else matches win over it."""
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
    """What a reference's script can say, alone or with its siblings; None: everything, or not known."""
    own = headers(reference)
    if own is None or own.can is None:
        return None
    words = own.can
    for other in references:
        header = headers(other) if kind_of(other) in own.siblings else None
        if header is not None and other.stable_service == reference.stable_service:
            words |= header.can if header.can is not None else WORDS.keys()
    return words


def unsayable(step: Step, reference: Reference, can: frozenset[str] | None) -> tuple[str, ...]:
    """What the step asks for and this reference cannot say, as verbs; empty where it can."""
    if can is None:
        return ()
    both = "both" in can or params_of(reference).get("both") is True
    missing = needs(step, both=both) - can
    return tuple(text for word, text in WORDS.items() if word in missing)


def left_out(
    step: Step, abilities: Sequence[tuple[Reference, frozenset[str] | None]]
) -> tuple[Reference, ...]:
    """References that send nothing to the new revision at this step: they cannot match as it asks, and another can.

    Empty where none can, and where one that cannot has one Service for both revisions: without its subsets, requests
    would reach new pods.
    """
    if not step.matches:
        return ()
    cannot = tuple(reference for reference, can in abilities if unsayable(step, reference, can))
    some_can = len(cannot) < len(abilities)
    return cannot if some_can and not any(reference.shared for reference in cannot) else ()


def name_of_script(reference: Reference) -> str:
    """What cannot say it, as a person knows it."""
    if reference.class_type:
        return f"Ingress class {reference.class_type} ({reference})"
    return f"{reference}"
