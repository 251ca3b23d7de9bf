"""Tests the claims of a script (`--@can`).

Steps are checked against these words, so a wrong word admits a step that then sends the wrong requests to the new
version. For each word there are steps that differ only in the claimed ability: a script with that ability answers all
of them, each differently. A script whose answer depends on no step at all (for example a DestinationRule's subset)
ignores nothing and keeps every claim.
Must not judge answers: `controller.domain.traffic.validation.answer` does.
"""

import msgspec

from controller.api.rollout import HeaderModifier, HttpRouteMatch, NameValue, PathMatch, ValueMatch
from controller.domain.decision import Refusal, RoutePlan
from controller.domain.traffic.plan.traffic_plan import identified
from controller.domain.traffic.tree import Tree, encode

_COOKIE = "canary-by-cookie"


class Probe(msgspec.Struct, frozen=True):
    """A step made up to test a claim. One that is not `required` may be refused, but not ignored."""

    weight: float | None = None
    matches: tuple[HttpRouteMatch, ...] = ()
    required: bool = True
    modifier: HeaderModifier | None = None

    def on(self, plan: RoutePlan) -> RoutePlan:
        """A plan with this step instead of its own."""
        return identified(
            msgspec.structs.replace(
                plan, weight=self.weight, matches=self.matches, header_modifier=self.modifier
            )
        )


def _share(percent: float, *, required: bool = True) -> Probe:
    return Probe(weight=float(percent), required=required)


def _header(name: str, value: str, kind: str = "Exact", weight: float | None = None) -> Probe:
    return Probe(weight, (HttpRouteMatch(headers=(ValueMatch(kind, name, value),)),))


def _query(name: str, value: str, kind: str = "Exact", *, required: bool = True) -> Probe:
    match = HttpRouteMatch(query_params=(ValueMatch(kind, name, value),))
    return Probe(matches=(match,), required=required)


def _path(value: str, kind: str = "PathPrefix", *, required: bool = True) -> Probe:
    match = HttpRouteMatch(path=PathMatch(kind, value))
    return Probe(matches=(match,), required=required)


def _method(name: str) -> Probe:
    return Probe(matches=(HttpRouteMatch(method=name),))


def _modifier(value: str, probe: Probe) -> Probe:
    """A change of headers besides; a kind may have a place for it with matches, with a share, or with both."""
    changes = HeaderModifier(set=(NameValue("x-set", value),))
    return msgspec.structs.replace(probe, modifier=changes, required=False)


_NAME, _OTHER = "x-probe", "x-other-probe"

CLAIMS: dict[str, tuple[Probe, ...]] = {
    "weight": (_share(20), _share(40), _share(0, required=False), _share(100, required=False)),
    "subpercent": (_share(12.5), _share(12.25)),
    "header": (_header(_NAME, "a"), _header(_NAME, "b"), _header(_OTHER, "a")),
    "header-regex": (
        _header(_NAME, "a", "RegularExpression"),
        _header(_NAME, "b", "RegularExpression"),
        _header(_NAME, "a"),
    ),
    "path": (
        _path("/probe-a"),
        _path("/probe-b"),
        _path("/probe-a", "Exact", required=False),
        _path("/probe-a", "RegularExpression", required=False),
    ),
    "query": (
        _query("probe", "a"),
        _query("probe", "b"),
        _query("other", "a"),
        _query("probe", "a", "RegularExpression", required=False),
    ),
    "cookie": (_header(_COOKIE, "probe-a"), _header(_COOKIE, "probe-b")),
    "method": (_method("GET"), _method("POST")),
    "both": (
        _header(_NAME, "a", weight=20.0),
        _header(_NAME, "a", weight=40.0),
        _header(_NAME, "b", weight=20.0),
    ),
    "header-modifier": (
        _modifier("a", _header(_OTHER, "a")),
        _modifier("b", _header(_OTHER, "a")),
        _modifier("a", _share(20)),
        _modifier("b", _share(20)),
    ),
}

ProbeAnswers = tuple[Tree | Refusal, ...]
"""One answer for each probe of a claim, on one original."""


class Ignored(msgspec.Struct, frozen=True):
    """Two steps that differ in the claimed ability got the same answer: the probes' places."""

    one: int
    other: int


class Unable(msgspec.Struct, frozen=True):
    """A step that the claim covers is refused."""

    probe: int
    refusal: Refusal


Breach = Ignored | Unable


def breach(word: str, answers: ProbeAnswers, *, independent: bool) -> Breach | None:
    """How the script breaks a claim on one original; None if it keeps the claim.

    `independent` says that no step at all makes a difference on this original.
    """
    seen: dict[bytes, int] = {}
    unable: Unable | None = None
    first = answers[0]
    if isinstance(first, Refusal) and all(isinstance(answer, Refusal) for answer in answers):
        return Unable(0, first)
    for place, (probe, answer) in enumerate(zip(CLAIMS[word], answers, strict=True)):
        if isinstance(answer, Refusal):
            if probe.required and unable is None:
                unable = Unable(place, answer)
            continue
        text = encode(answer)
        if text in seen and not independent:
            return Ignored(seen[text], place)
        seen.setdefault(text, place)
    return unable
