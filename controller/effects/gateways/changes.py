"""One gateway object with its scripts, and the change of it that a plan asks for.

Invariant: values only, and the questions that they answer; no request, no script call.
"""

import msgspec

from controller.api import names
from controller.domain.decision import Reference, Refusal, RoutePlan
from controller.domain.traffic.companions.companion import wanted_part, written_sum
from controller.domain.traffic.drift.object_state import ObjectState
from controller.domain.traffic.drift.policy import PutBacks
from controller.domain.traffic.original.content import content_of, write_original
from controller.domain.traffic.original.record import checksum, write_state
from controller.domain.traffic.original.reports import packed_report
from controller.domain.traffic.plan.header import ScriptHeader
from controller.domain.traffic.plan.script_input import kind_of, sibling_of
from controller.domain.traffic.tree import Tree, covers, same
from controller.domain.traffic.validation.room import without_room
from controller.effects.gateways import failed_writes
from controller.effects.gateways.script_answers import Question
from controller.effects.gateways.targets import Target
from controller.scripts.lookup import Script


class Scripted(msgspec.Struct, frozen=True):
    """A target with its scripts and its place in the order."""

    target: Target
    scripts: tuple[Script, ...]
    headers: tuple[ScriptHeader, ...]
    depth: int = 0


class Change(msgspec.Struct, frozen=True):
    """One object to write."""

    target: Target
    depth: int
    object_state: ObjectState
    desired: Tree
    objects: tuple[Tree, ...] = ()
    corrected: PutBacks = PutBacks()
    announced: bool = False
    confirmed: bool = False
    """The script reads in the object's status whether the gateway took it."""

    @property
    def sums(self) -> dict[str, str]:
        """Checksums of its companion objects, by kind and name."""
        return {f"{o['kind']}/{wanted_part(o, 'name')}": written_sum(o) for o in self.objects}

    @property
    def says_anew(self) -> bool:
        """The write changes what the object says; fields that the server added, or others, are no difference."""
        live, written = content_of(self.object_state.live), self.object_state.written
        kept = written is not None and covers(live, self.desired) and covers(self.desired, written)
        return not (kept or same(live, self.desired))

    def _said(self, plan: RoutePlan) -> str:
        """The same as before if the write changes nothing that others could name, else something new."""
        record = self.object_state.record
        before = record.said if record is not None else ""
        if not self.says_anew:
            return before
        return checksum(f"{before} {plan.release} {plan.identity}".encode())[:16]

    @property
    def _before(self) -> str:
        """The reports of gateways on the owner's own object; of an object in use the first write knows it."""
        state = self.object_state
        if state.record is not None:
            return state.record.before
        return packed_report(state.live) if self.confirmed and not state.in_use else ""

    def marks(self, plan: RoutePlan, desired: Tree) -> dict[str, str]:
        """The stored original and our record of a write with this content."""
        original = write_original(self.object_state.original)
        state = write_state(
            release=plan.release,
            rollout=plan.rollout,
            plan=plan.identity,
            depth=self.depth,
            original=original,
            desired=desired,
            objects=self.sums,
            corrected=self.corrected.places,
            corrected_at=self.corrected.at,
            corrected_before=self.corrected.before,
            announced=self.announced,
            namespace=plan.namespace,
            said=self._said(plan) if self.depth else "",
            before=self._before,
        )
        return {names.ORIGINAL_SPEC: original, names.ROUTE_STATE: state}


def shown_beside(item: Scripted, references: tuple[Reference, ...]) -> list[Reference]:
    """The objects that the scripts of one object are shown besides it."""
    kinds = {kind for header in item.headers for kind in header.siblings}
    return [
        other
        for other in references
        if kind_of(other) in kinds and other not in item.target.references
    ]


def first_without_room(changes: list[Change], plan: RoutePlan, spare: int = 0) -> Refusal | None:
    """The first object whose annotations have no room for ours."""
    for change in changes:
        found = without_room(change.desired, change.marks(plan, change.desired), spare)
        if found is not None:
            return failed_writes.too_large(found.message, change.target.subject)
    return None


def _as_served(references: tuple[Reference, ...], live: Tree) -> tuple[Reference, ...]:
    """References in the version that the server returns: scripts read and write objects of that version."""
    version = live.get("apiVersion")
    if not isinstance(version, str):
        return references
    return tuple(msgspec.structs.replace(item, api_version=version) for item in references)


def question_about(
    item: Scripted,
    object_state: ObjectState,
    originals: list[tuple[Reference, Tree]],
    plan: RoutePlan,
) -> Question:
    """The input for the scripts of one object."""
    target = item.target
    served = _as_served(target.references, object_state.live)
    others = [pair for pair in originals if pair[0] != target.reference]
    return Question(
        subject=target.subject,
        original=object_state.original,
        scripts=tuple(zip(served, item.scripts, strict=True)),
        siblings=tuple(
            tuple(
                sibling_of(reference, plan, original)
                for reference, original in others
                if kind_of(reference) in header.siblings
            )
            for header in item.headers
        ),
        named=tuple(target.references),
        left_out=frozenset(
            place for place, reference in enumerate(target.references) if reference in plan.left_out
        ),
    )
