from controller.api.rollout import HttpRouteMatch, ValueMatch
from controller.cli.script_tools.claims import CLAIMS, Ignored, ProbeAnswers, Unable, breach
from controller.domain.decision import Refusal, RoutePlan
from controller.domain.traffic.tree import Tree

NO = Refusal("ScriptFailed", "no")
PLAN = RoutePlan("", "ns", "r", "1", (), weight=5.0)


def tree(number: int) -> Tree:
    return {"spec": {"number": number}}


def answers(word: str, *numbers: int | None) -> ProbeAnswers:
    """One answer for each probe; None is a refusal. Those that are not given differ from all."""
    given = tuple(NO if number is None else tree(number) for number in numbers)
    return (*given, *(tree(1000 + place) for place in range(len(CLAIMS[word]) - len(given))))


def test_a_claim_is_kept_where_every_step_has_an_answer_of_its_own() -> None:
    for word in CLAIMS:
        assert breach(word, answers(word), independent=False) is None


def test_two_steps_with_one_answer_are_a_breach_unless_no_step_matters() -> None:
    same = answers("weight", 1, 1)
    assert breach("weight", same, independent=False) == Ignored(0, 1)
    assert breach("weight", same, independent=True) is None


def test_a_refusal_breaks_a_claim_only_within_its_scope() -> None:
    assert breach("path", answers("path", None), independent=False) == Unable(0, NO)
    assert breach("path", answers("path", 1, 2, None, None), independent=False) is None


def test_ignoring_weighs_more_than_refusing() -> None:
    given = answers("header", None, 1, 1)
    assert breach("header", given, independent=False) == Ignored(1, 2)


def test_steps_of_a_claim_differ_from_each_other() -> None:
    for probes in CLAIMS.values():
        plans = {probe.on(PLAN).identity for probe in probes}
        assert len(plans) == len(probes)


def test_matches_alone_have_no_share() -> None:
    plan = CLAIMS["header"][0].on(PLAN)
    assert plan.weight is None
    assert plan.matches == (HttpRouteMatch(headers=(ValueMatch("Exact", "x-probe", "a"),)),)
