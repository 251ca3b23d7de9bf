"""Makes gateway objects follow a plan, and restores them.

`ensure` first checks everything that can fail (kinds, rights, objects, scripts, answers) and writes nothing unless
every object's new content is known; then objects are written in the order of the scripts' headers. A write that changes
the content of a deeper object, or makes a companion object, ends the pass: an object that may name it is written a
grace period later (`domain/traffic/named_content`).

One write per object sets the content, the stored original and our record together, so a crash cannot separate them. The
record holds the content that we *sent*. A later pass compares the live object with that. Fields that the server adds
inside our part are no difference, so servers that default fields need no second write and no dry run. Only when the
server *changed* content that it was given (it normalised a value, or an admission plugin added to a part that was the
owner's) the record is written once more with the stored form; otherwise the difference would look like a foreign change
for ever.

`restore` needs no script, no workload and no Service: the order comes from the records. It stops when an object cannot
be restored, because that object may still name deeper ones. The caller decides the waits in between.
Invariant: every write carries the resource version that was checked; a conflict means that nothing was written.
"""

from datetime import datetime
from itertools import groupby

import msgspec

from controller.api.meta import Key
from controller.domain import reasons
from controller.domain.decision import (
    Done,
    LaterSteps,
    NotYet,
    Outcome,
    Reference,
    Refusal,
    RestoreRoutes,
    RoutePlan,
)
from controller.domain.traffic.companions.companion import (
    CompanionObject,
    place_of,
)
from controller.domain.traffic.drift.leading import (
    Stored,
    corrections,
    depth_of,
    follows,
    is_led,
    refusal_to_lead,
    stored_how,
)
from controller.domain.traffic.drift.object_state import ObjectState
from controller.domain.traffic.original.content import (
    content_of,
    marks_of,
    with_content,
)
from controller.domain.traffic.plan.header import GroupKind
from controller.domain.traffic.plan.script_input import Cycle, depths_of, kind_of
from controller.domain.traffic.tree import Tree, decode_tree, encode, same
from controller.domain.traffic.validation.room import LATER_STEPS
from controller.effects.gateways import failed_writes
from controller.effects.gateways.changes import (
    Change,
    Scripted,
    first_without_room,
    question_about,
    shown_beside,
)
from controller.effects.gateways.companions import Companions, CompanionsByPlace, RoutedObjects
from controller.effects.gateways.confirming import Confirmation, Verdicts
from controller.effects.gateways.contracts import AccountRights, ScriptRunner, ScriptSource
from controller.effects.gateways.rehearsing import Rehearsal, Rehearsed
from controller.effects.gateways.script_accounts import Accounts, Nobody
from controller.effects.gateways.script_answers import Answers, Tried, TriedOf
from controller.effects.gateways.settling import Settling
from controller.effects.gateways.targets import Look, Target, targets_of
from controller.scripts.lookup import MissingScript, Script


class _Foreseen(msgspec.Struct, frozen=True):
    """All objects to write, the present companion objects, and the greatest depth of all objects."""

    changes: list[Change]
    companions: CompanionsByPlace
    deepest: int = 0


class GatewayRoutes:
    """Carries out EnsureRoutes, ConfirmRoutes and RestoreRoutes."""

    def __init__(
        self,
        objects: RoutedObjects,
        scripts: ScriptSource,
        runner: ScriptRunner,
        *,
        rights: AccountRights | None = None,
        allow_cluster_scoped: bool = False,
        tried: TriedOf | None = None,
        verdicts: Verdicts | None = None,
    ) -> None:
        """Without `rights`, no ServiceAccount of a namespace's script has any."""
        self._confirmation = Confirmation(objects, scripts, runner, verdicts or Verdicts())
        self._objects = objects
        self._companions = Companions(objects)
        self._scripts = scripts
        tried = tried or Tried().of(Key("", ""))
        self._answers = Answers(runner, tried)
        self._rehearsal = Rehearsal(objects, tried)
        self._accounts = Accounts(objects, rights or Nobody())
        self._look = Look(objects, allow_cluster_scoped=allow_cluster_scoped)

    # --- ensure -----------------------------------------------------------------------------------

    async def ensure(
        self, plan: RoutePlan, at: datetime | None = None, settles_in: float = 0.0
    ) -> Outcome:
        """All gateway objects follow the plan. Where somebody's change is reverted, `at` is recorded with the
        places. For `settles_in` seconds more no object may name what deeper ones say.
        """
        if plan.announces:
            return await self._announce(plan, settles_in)
        return await self._lead(plan, at, settles_in)

    async def _announce(self, plan: RoutePlan, settles_in: float) -> Outcome:
        """Name the new revision's Services in objects whose kinds ask for it; a failure here is ignored."""
        wanted = tuple(filter(self._announces, plan.references))
        if not wanted:
            return Done()
        outcome = await self._lead(
            msgspec.structs.replace(plan, references=wanted, others=plan.references),
            settles_in=settles_in,
            all_references=plan.references,
        )
        # A script that fails reports it when it runs for the step itself, and never keeps an object from being
        # restored.
        return Done() if isinstance(outcome, Refusal) else outcome

    def _announces(self, reference: Reference) -> bool:
        script = self._scripts.resolve(reference)
        return not isinstance(script, MissingScript) and script.header.announces

    async def _lead(
        self,
        plan: RoutePlan,
        at: datetime | None = None,
        settles_in: float = 0.0,
        *,
        all_references: tuple[Reference, ...] = (),
    ) -> Outcome:
        """The plan's references follow it; `all_references` are given if the plan is about some of them only."""
        foreseen = await self._foresee(plan, all_references or plan.references)
        if isinstance(foreseen, Refusal):
            return foreseen
        if not foreseen.changes:
            return Done()
        settling = Settling(settles_in, foreseen.deepest)
        for change in sorted(foreseen.changes, key=lambda change: -change.depth):
            present = foreseen.companions.get(place_of(change.target.reference), ())
            if settling.delays(change):
                return settling.wait(change)
            noted = msgspec.structs.replace(
                change, corrected=corrections(change.object_state, present, at)
            )
            outcome = await self._write(noted, present, plan)
            if not isinstance(outcome, Done):
                return outcome
            settling = settling.after(change)
        return Done(wrote=True)

    async def confirm(self, plan: RoutePlan) -> Outcome:
        """Every object on which its gateway reports has a verdict: taken, not yet, or refused."""
        return await self._confirmation.confirm(plan)

    async def rehearse(self, plan: RoutePlan, later: LaterSteps = ()) -> Outcome:
        """Return the refusals of `ensure` without writing anything; then those of later steps by their scripts."""
        foreseen = await self._foresee(plan, plan.references)
        if isinstance(foreseen, Refusal):
            return foreseen
        if refused := first_without_room(foreseen.changes, plan, LATER_STEPS):
            return refused
        writes = [self._rehearsed(change, foreseen.companions, plan) for change in foreseen.changes]
        refused = await self._rehearsal.refusal(writes, plan)
        return refused or await self._refusal_of_later(later) or Done()

    async def _refusal_of_later(self, plans: LaterSteps) -> Refusal | None:
        """The first later step that a script refuses; an accepted one is not asked about again in this release."""
        for step, plan in plans:
            if self._rehearsal.accepted_step(step, plan):
                continue
            foreseen = await self._foresee(plan, plan.references)
            if isinstance(foreseen, Refusal):
                return msgspec.structs.replace(
                    foreseen, message=f"step {step} would be refused: {foreseen.message}"
                )
            self._rehearsal.accept_step(step, plan)
        return None

    def _rehearsed(
        self, change: Change, companions: CompanionsByPlace, plan: RoutePlan
    ) -> Rehearsed:
        live, reference = change.object_state.live, change.target.reference
        body = with_content(live, change.desired, change.marks(plan, change.desired))
        present = companions.get(place_of(reference), ())
        absent = self._companions.absent(change.objects, present, plan, reference)
        return Rehearsed(change.target, change.desired, body, absent)

    async def _foresee(
        self, plan: RoutePlan, all_references: tuple[Reference, ...]
    ) -> _Foreseen | Refusal:
        """The objects to write; a refusal if a problem is known."""
        if plan.weight is None and not plan.matches:
            return failed_writes.nothing_to_route(plan)
        targets = targets_of(plan.references, plan.namespace)
        object_states = await self._object_states(targets, plan)
        if isinstance(object_states, Refusal):
            return object_states
        companions = await self._companions.seen(
            plan.references, plan.namespace, plan.rollout_uid, plan.others
        )
        follow = [
            follows(object_state, companions.get(place_of(target.reference), ()), plan)
            for target, object_state in zip(targets, object_states, strict=True)
        ]
        if all(follow):
            return _Foreseen([], companions)
        scripted = self._scripted(targets, all_references)
        if isinstance(scripted, Refusal):
            return scripted
        changes = await self._changes(scripted, object_states, follow, plan)
        if isinstance(changes, Refusal):
            return changes
        deepest = max(item.depth for item in scripted)
        return first_without_room(changes, plan) or _Foreseen(changes, companions, deepest)

    async def _object_states(
        self, targets: tuple[Target, ...], plan: RoutePlan
    ) -> list[ObjectState] | Refusal:
        """The states of all objects; a refusal if one must not be written."""
        for target in targets:
            if refused := await self._look.refused_kind(target):
                return refused
        found: list[ObjectState] = []
        seen = await self._look.read_all(targets, plan.namespace)
        for target, object_state in zip(targets, seen, strict=True):
            if object_state is None:
                return failed_writes.not_found(target.subject)
            if isinstance(object_state, Refusal):
                return object_state
            if refused := refusal_to_lead(object_state, plan, target.subject):
                return refused
            found.append(object_state)
        return found

    def _scripted(
        self, targets: tuple[Target, ...], all_references: tuple[Reference, ...]
    ) -> list[Scripted] | Refusal:
        """Every target's scripts and its depth among all references; a refusal if one has no script."""
        found: list[Scripted] = []
        for target in targets:
            scripts: list[Script] = []
            for reference in target.references:
                script = self._scripts.resolve(reference)
                if isinstance(script, MissingScript):
                    return failed_writes.script_missing(script, target.subject)
                scripts.append(script)
            headers = tuple(script.header for script in scripts)
            found.append(Scripted(target, tuple(scripts), headers))
        depths = self._depths(all_references)
        if isinstance(depths, Cycle):
            return failed_writes.script_cycle(depths)
        return [
            msgspec.structs.replace(item, depth=depths[kind_of(item.target.reference)])
            for item in found
        ]

    def _depths(self, references: tuple[Reference, ...]) -> dict[GroupKind, int] | Cycle:
        """Depth of each kind that has a script."""
        headers = tuple(
            (reference, script.header)
            for reference in references
            if not isinstance(script := self._scripts.resolve(reference), MissingScript)
        )
        depths = depths_of(headers)
        if isinstance(depths, Cycle):
            return depths
        kinds = (kind_of(reference) for reference, _ in headers)
        return dict(zip(kinds, depths, strict=True))

    async def _changes(
        self,
        scripted: list[Scripted],
        object_states: list[ObjectState],
        follow: list[bool],
        plan: RoutePlan,
    ) -> list[Change] | Refusal:
        """All objects to write; a refusal if a script's answer is not valid."""
        originals = [
            (item.target.reference, object_state.original)
            for item, object_state in zip(scripted, object_states, strict=True)
        ]
        changes: list[Change] = []
        for item, object_state, done in zip(scripted, object_states, follow, strict=True):
            if done:
                continue
            target = item.target
            others = shown_beside(item, plan.references)
            if refused := await self._accounts.may_lead(target, others, plan.namespace):
                return refused
            desired = await self._answers.desired(
                question_about(item, object_state, originals, plan), plan
            )
            if isinstance(desired, Refusal):
                return desired
            if refused := await self._accounts.may_make(target, desired.objects, plan.namespace):
                return refused
            change = Change(
                target,
                item.depth,
                object_state,
                desired.content,
                desired.objects,
                announced=any(header.announces for header in item.headers),
                confirmed=any(header.taken for header in item.headers),
            )
            changes.append(change)
        return changes

    async def _write(
        self, change: Change, present: tuple[CompanionObject, ...], plan: RoutePlan
    ) -> Outcome:
        """Create the object's companion objects, write the object, and delete companion objects that are no longer
        wanted.
        """
        reference = change.target.reference
        absent = self._companions.absent(change.objects, present, plan, reference)
        companions = await self._companions.make(change.objects, present, plan, reference)
        if not isinstance(companions, Done):
            return companions
        if absent and change.says_anew:
            return Settling().wait(change)
        written = await self._write_object(change, plan)
        if not isinstance(written, Done):
            return written
        return await self._companions.remove_except(present, change.sums, plan.namespace, reference)

    async def _write_object(self, change: Change, plan: RoutePlan) -> Outcome:
        """Write one object, and its record again if the server changed the content."""
        original, desired = change.object_state.original, change.desired
        stored = await self._replace(change, plan, change.object_state.live, desired)
        if isinstance(stored, (Refusal, NotYet)):
            return stored
        kept = content_of(stored)
        match stored_how(original, desired, kept):
            case Stored.AS_SENT:
                return Done(wrote=True)
            case Stored.DROPPED:
                return failed_writes.change_not_kept(change.target.subject)
            case Stored.NORMALISED:
                again = await self._replace(change, plan, stored, kept)
                return again if isinstance(again, (Refusal, NotYet)) else Done(wrote=True)

    async def _replace(
        self, change: Change, plan: RoutePlan, live: Tree, desired: Tree
    ) -> Tree | Refusal | NotYet:
        body = with_content(live, desired, change.marks(plan, desired))
        stored = await self._put(change.target, plan.namespace, body)
        return decode_tree(stored) if isinstance(stored, bytes) else stored

    async def _put(self, target: Target, namespace: str, body: bytes) -> bytes | Refusal | NotYet:
        try:
            return await self._objects.replace(target.reference, namespace, body)
        except failed_writes.WRITE_FAILURES as failure:
            return failed_writes.of_write(failure, target.subject)

    # --- restore ----------------------------------------------------------------------------------

    async def restore(self, action: RestoreRoutes) -> Outcome:
        """Restore all gateway objects, keeping changes by others."""
        targets = targets_of(action.references, action.namespace)
        seen = await self._look.read_all(targets, action.namespace)
        companions = await self._companions.seen(
            action.references, action.namespace, action.rollout_uid, action.others
        )
        in_use: list[tuple[int, int, Target, ObjectState | None]] = []
        for index, (target, object_state) in enumerate(zip(targets, seen, strict=True)):
            if isinstance(object_state, Refusal):
                return object_state
            led = object_state is not None and is_led(object_state, action, target.subject)
            ours = object_state if led else None
            if ours is None and place_of(target.reference) not in companions:
                continue
            in_use.append((depth_of(ours), -index, target, ours))
        in_use.sort(key=lambda item: item[:2])
        for _, alike in groupby(in_use, key=lambda item: item[0]):
            outcomes = [
                await self._restore_object(target, action.namespace, object_state, companions)
                for _, _, target, object_state in alike
            ]
            if failed := next((item for item in outcomes if not isinstance(item, Done)), None):
                return failed
        return Done(wrote=bool(in_use))

    async def _restore_object(
        self,
        target: Target,
        namespace: str,
        object_state: ObjectState | None,
        companions: CompanionsByPlace,
    ) -> Outcome:
        """Restore the object, then delete its companion objects."""
        if object_state is not None:
            outcome = await self._restore_content(target, namespace, object_state)
            if not isinstance(outcome, Done):
                return outcome
        present = companions.get(place_of(target.reference), ())
        return await self._companions.remove_except(present, (), namespace, target.reference)

    async def _restore_content(
        self, target: Target, namespace: str, object_state: ObjectState
    ) -> Outcome:
        """First the original content, then our marks: while the marks are there, an interrupted restore is repeated."""
        stored = await self._with_original(target, namespace, object_state)
        match stored:
            case Refusal(reason=reasons.GATEWAY_OBJECT_NOT_FOUND):
                return Done()
            case Refusal() | NotYet():
                return stored
            case _:
                return await self._unmark(target, namespace, stored)

    async def _with_original(
        self, target: Target, namespace: str, object_state: ObjectState
    ) -> bytes | Refusal | NotYet:
        """The object as stored, with its original content and our marks."""
        if same(content_of(object_state.live), object_state.original):
            return encode(object_state.live)
        body = with_content(object_state.live, object_state.original, marks_of(object_state.live))
        return await self._put(target, namespace, body)

    async def _unmark(self, target: Target, namespace: str, stored: bytes) -> Outcome:
        try:
            await self._objects.take_marks_off(target.reference, namespace, stored)
        except failed_writes.WRITE_FAILURES as failure:
            return failed_writes.of_write(failure, target.subject)
        return Done(wrote=True)
