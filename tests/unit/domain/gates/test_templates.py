"""Which gates a Rollout has, and which templates wake it."""

from msgspec import structs

from controller.api.analysis import Analysis, TemplateRef
from controller.api.rollout import Rollout, RolloutSpec, Step, Strategy
from controller.domain.gates.templates import analyses_of, template_value
from tests.unit.builders import make_rollout, make_strategy

GATE = Analysis(templates=(TemplateRef("a"),))


def test_the_background_comes_first() -> None:
    behind = Analysis(starting_step=2)
    strategy = make_strategy(steps=(Step(replicas=1), Step(replicas=2, analysis=GATE)))
    rollout = make_rollout(strategy=structs.replace(strategy, analysis=behind))
    assert analyses_of(rollout) == (behind, GATE)


def test_a_rollout_without_a_plan_has_no_gates() -> None:
    assert analyses_of(Rollout(spec=RolloutSpec(strategy=Strategy()))) == ()


def test_a_template_is_named_with_its_namespace_unless_it_is_the_clusters() -> None:
    assert template_value("shop", TemplateRef("a")) == "shop/a"
    assert template_value("shop", TemplateRef("a", cluster_scope=True)) == "/a"
