"""The change of a recorded release: the templates of both of its revisions, side by side.

Invariant: a template is only taken from a source that certainly has this revision's: from the ReplicaSets and
ControllerRevisions that Kubernetes keeps, or from the record of a release that succeeded, whose workload had the new
template. A missing template is reported as missing; templates are never guessed from their order.
"""

from collections.abc import Sequence

import msgspec

from controller.api.history import RolloutHistory
from controller.cli.reading.kept_templates import Kept, plain_template
from controller.cli.script_tools.yaml_text import diff
from controller.cli.views.view import View
from controller.domain.history import Outcome
from controller.domain.traffic.tree import Tree


class Change(View, frozen=True):
    """One release: from which revision to which, and the lines that differ; `problem` says why there are none."""

    release: str
    revision: str
    stable_revision: str
    outcome: str
    lines: tuple[str, ...] = ()
    problem: str = ""


class _Spec(msgspec.Struct, frozen=True):
    template: msgspec.Raw = msgspec.Raw(b"{}")


def change_of(
    record: RolloutHistory, records: Sequence[RolloutHistory], kept: Kept | None
) -> Change:
    """The change of the pod template in this release."""
    status = record.status
    before = _template(status.stable_revision, records, kept)
    after = _template(status.revision, records, kept)
    problem = ""
    lines: tuple[str, ...] = ()
    if before is None or after is None:
        gone = status.stable_revision if before is None else status.revision
        problem = f"the template of revision {gone or 'before it'} is kept nowhere any more"
    else:
        lines = diff(before, after, (status.stable_revision, status.revision))
        problem = "" if lines else "both revisions have the same template"
    return Change(
        release=record.metadata.name,
        revision=status.revision,
        stable_revision=status.stable_revision,
        outcome=status.outcome,
        lines=lines,
        problem=problem,
    )


def _template(revision: str, records: Sequence[RolloutHistory], kept: Kept | None) -> Tree | None:
    if not revision:
        return None
    if kept is not None and revision in kept.templates:
        return plain_template(kept.templates[revision])
    for record in records:
        workload = record.spec.workload
        ended_with_it = record.status.revision == revision
        if ended_with_it and record.status.outcome == Outcome.SUCCEEDED and workload is not None:
            if isinstance(workload.data, msgspec.UnsetType):
                return None
            return plain_template(msgspec.json.decode(workload.data, type=_Spec).template)
    return None
