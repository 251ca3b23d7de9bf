"""Which gates a Rollout has, and which templates they name.

Invariant: pure look-ups over the spec; the existence of a template is not checked here.
"""

from controller.api.analysis import Analysis, TemplateRef
from controller.api.rollout import Rollout


def analyses_of(rollout: Rollout) -> tuple[Analysis, ...]:
    """The gates of a Rollout, the background gate first."""
    plan = rollout.spec.strategy.plan
    if plan is None:
        return ()
    found = (plan.analysis, *(step.analysis for step in plan.steps))
    return tuple(analysis for analysis in found if analysis is not None)


def template_value(namespace: str, ref: TemplateRef) -> str:
    """How a template is named in the index of Rollouts."""
    return f"/{ref.name}" if ref.cluster_scope else f"{namespace}/{ref.name}"
