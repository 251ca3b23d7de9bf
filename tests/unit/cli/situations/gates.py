"""Situations of gates: they fail, get no answer, or cannot be asked as they are written."""

from msgspec import structs

from controller.api.analysis import (
    Analysis,
    AnalysisTemplate,
    AnalysisTemplateSpec,
    Argument,
    TemplateRef,
)
from controller.api.meta import ObjectMeta
from controller.api.rollout import RolloutSpec
from controller.domain import reasons
from tests.unit.builders import NAMESPACE, wait
from tests.unit.cli.situations.situation import (
    Act,
    Situation,
    promote,
    retry,
    rollout_edited,
    undo,
)
from tests.unit.domain.rollout.approvals.test_analysing import ERRORS, QUERY, gated, released
from tests.unit.worlds import World

OF_TEAM = structs.replace(
    ERRORS, prometheus=structs.replace(QUERY, query="errors{team='{{ args.team }}'}")
)


def with_bad_metrics() -> World:
    return released(gated(), errors=(0.07,))


def without_data() -> World:
    world = released(gated())
    wait(world, 700)
    return world


def without_a_verdict() -> World:
    world = released(gated(deadline_seconds=60))
    wait(world, 100)
    return world


def with_a_word_that_has_no_value() -> World:
    return released(gated(OF_TEAM), errors=(0.001,))


def with_a_template_that_does_not_exist() -> World:
    return released(Analysis(templates=(TemplateRef("errors"),)), errors=(0.001,))


def measured_again(world: World) -> None:
    """`moonshift retry`, after the new version was mended."""
    world.passes.measures.series["errors"] = (0.001,)
    retry(world)
    wait(world, 20)


def template_applied(world: World) -> None:
    """`kubectl apply -f FILE`: the manifest of the AnalysisTemplate."""
    meta = ObjectMeta(name="errors", namespace=NAMESPACE)
    spec = AnalysisTemplateSpec(metrics=(ERRORS,))
    world.cluster.analysis_templates.put(AnalysisTemplate(metadata=meta, spec=spec))


def with_gate(analysis: Analysis) -> Act:
    """`kubectl edit rollout web`: another gate of step 1."""

    def edited(spec: RolloutSpec) -> RolloutSpec:
        canary = spec.strategy.canary
        assert canary is not None
        first = structs.replace(canary.steps[0], analysis=analysis)
        plan = structs.replace(canary, steps=(first, *canary.steps[1:]))
        return structs.replace(spec, strategy=structs.replace(spec.strategy, canary=plan))

    return rollout_edited(edited)


WAYS_ON = {"moonshift undo": undo, "moonshift retry": measured_again, "moonshift approve": promote}

SITUATIONS: dict[str, Situation] = {
    "a gate that fails": Situation(reasons.ANALYSIS_FAILED, with_bad_metrics, WAYS_ON),
    "a gate without data": Situation(reasons.ANALYSIS_WITHOUT_DATA, without_data, WAYS_ON),
    "a gate without a verdict": Situation(
        reasons.ANALYSIS_INCONCLUSIVE, without_a_verdict, WAYS_ON
    ),
    "a gate with a word that has no value": Situation(
        reasons.INVALID_ANALYSIS,
        with_a_word_that_has_no_value,
        {
            "edit rollout": with_gate(gated(OF_TEAM, args=(Argument("team", "shop"),))),
            "moonshift undo": undo,
        },
    ),
    "a gate whose template does not exist": Situation(
        reasons.ANALYSIS_TEMPLATE_NOT_FOUND,
        with_a_template_that_does_not_exist,
        {
            "apply -f": template_applied,
            "edit rollout": with_gate(gated()),
            "moonshift undo": undo,
        },
    ),
}
