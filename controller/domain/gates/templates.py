"""Which gates a Rollout has, and which templates and scripts of its namespace they name.

Invariant: pure look-ups over the spec; the existence of a template is not checked here.
"""

from controller.api.analysis import Analysis, ScriptRef, SourceQuery, TemplateRef
from controller.api.rollout import Rollout
from controller.domain.decision import OwnScript


def analyses_of(rollout: Rollout) -> tuple[Analysis, ...]:
    """The gates of a Rollout, the background gate first."""
    plan = rollout.spec.strategy.plan
    if plan is None:
        return ()
    found = (plan.analysis, *(step.analysis for step in plan.steps))
    return tuple(analysis for analysis in found if analysis is not None)


def own_scripts_of(rollout: Rollout) -> tuple[OwnScript, ...]:
    """The scripts of the namespace that metrics name; those of templates are refused."""
    return tuple(
        own_script(metric.source, rollout.metadata.namespace)
        for analysis in analyses_of(rollout)
        for metric in analysis.metrics
        if metric.source is not None and metric.source.script_ref is not None
    )


def own_script(source: SourceQuery, namespace: str) -> OwnScript:
    """The script of the namespace that a source names."""
    ref = source.script_ref or ScriptRef()
    return OwnScript(namespace, ref.name, ref.service_account_name, ref.key)


def template_value(namespace: str, ref: TemplateRef) -> str:
    """How a template is named in the index of Rollouts."""
    return f"/{ref.name}" if ref.cluster_scope else f"{namespace}/{ref.name}"
