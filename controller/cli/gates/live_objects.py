"""The objects that a gate needs from the cluster: the live Rollout, its workload's labels, the templates it names.

Invariant: reads only, one request an object. An object that cannot be read is reported where it is
needed, never taken for absent.
"""

from msgspec import structs

from controller.api.analysis import AnalysisTemplate, TemplateRef
from controller.api.decoding import decoded
from controller.api.meta import ObjectMeta
from controller.api.rollout import Rollout
from controller.cli.failures import explain
from controller.cli.gates.given import Given, gates_of
from controller.cli.reading.found_rollouts import read_rollout
from controller.cli.reading.gateway_watches import look_up
from controller.cli.reading.session import Session
from controller.cli.views.any_workload import AnyWorkload
from controller.domain.availability import Failing, Unavailable
from controller.domain.gates.nesting import MOST, named_by
from controller.errors import MoonshiftError, NotFound
from controller.kube.resources import ANALYSIS_TEMPLATES, CLUSTER_ANALYSIS_TEMPLATES


async def completed(session: Session, given: Given, name: str) -> Given:
    """The gates with the live release; the live Rollout's own gates if the files contain none."""
    rollout = await read_rollout(session, name)
    gates = given.gates or gates_of(rollout)
    templates = dict(given.templates)
    for gate in gates:
        waiting, seen = list(gate.analysis.templates), set[TemplateRef]()
        while waiting and len(seen) <= MOST:
            ref = waiting.pop(0)
            if ref in seen:
                continue
            seen.add(ref)
            if ref not in templates:
                templates[ref] = await _template(session, ref)
            waiting += named_by(templates[ref])
    workload = await _workload(session, rollout)
    return structs.replace(
        given, gates=gates, rollout=rollout, templates=templates, workload=workload
    )


async def _template(session: Session, ref: TemplateRef) -> AnalysisTemplate | Unavailable | None:
    kind = CLUSTER_ANALYSIS_TEMPLATES if ref.cluster_scope else ANALYSIS_TEMPLATES
    try:
        body = await session.client.get(kind, session.namespace, ref.name)
    except NotFound:
        return None
    except MoonshiftError as failure:
        return Failing(explain(failure))
    return decoded(body, AnalysisTemplate)


async def _workload(session: Session, rollout: Rollout) -> ObjectMeta:
    ref = rollout.spec.workload_ref
    try:
        resource = await look_up(session.client, (ref.api_version, ref.kind))
        body = await session.client.get(resource, session.namespace, ref.name)
    except MoonshiftError:
        # only arguments read it, and their error names the missing label
        return ObjectMeta(name=ref.name)
    return decoded(body, AnyWorkload).metadata
