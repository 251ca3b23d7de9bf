"""Gateway objects follow a plan, or are what they were before.

`ensure` first finds out everything that could go wrong (kinds, rights, objects, scripts, answers) and writes nothing
unless every object's new content is known; then objects are written in the order the scripts' headers ask for.

One write per object sets the content, the stored original and our record together, so a crash cannot part them. The
record holds what we *sent*. A later pass compares the live object with that, and fields the server adds inside what
we sent are no difference; so servers that default fields need no second write and no dry run. Only when the server
*changed* what it was given (it normalised a value, or an admission plugin added to a part that was the owner's) the
record is written once more with what came back, because otherwise that would look like somebody's edit for ever.

`restore` needs no script, no workload and no Service: the order comes from the records. It stops above an object that
could not be restored, because what is below may still be pointed at. How long to wait in between is not decided here.
Invariant: every write carries the resource version that was judged; a conflict means that nothing was written.
"""

from datetime import datetime
from itertools import groupby

import msgspec

from controller.api import names
from controller.domain.decision import (
    Done,
    NotYet,
    Outcome,
    Reference,
    Refusal,
    RestoreRoutes,
    RoutePlan,
)
from controller.domain.traffic.drift import Standing, other_user
from controller.domain.traffic.header import GroupKind, ScriptHeader
from controller.domain.traffic.made import (
    Made,
    disturbances,
    place_of,
    stands,
    wanted_part,
    written_sum,
)
from controller.domain.traffic.original import content_of, with_content, write_original
from controller.domain.traffic.restore import restore
from controller.domain.traffic.scripts import Cycle, depths_of, kind_of, sibling_of
from controller.domain.traffic.state import write_state
from controller.domain.traffic.tree import Json, Tree, decode_tree, same
from controller.effects.gateways import refusals
from controller.effects.gateways.answers import Answers, Question, Tried
from controller.effects.gateways.beside import Beside, BesideObjects, MadeOf
from controller.effects.gateways.contracts import ScriptRunner, ScriptSource
from controller.effects.gateways.targets import Look, Target, targets_of
from controller.errors import Conflict, Forbidden, Invalid, NotFound
from controller.scripts.lookup import MissingScript, Script


class _Scripted(msgspec.Struct, frozen=True):
    """A target with its scripts and its place in the order."""

    target: Target
    scripts: tuple[Script, ...]
    headers: tuple[ScriptHeader, ...]
    depth: int = 0


class _Change(msgspec.Struct, frozen=True):
    """One object to write."""

    target: Target
    depth: int
    standing: Standing
    desired: Tree
    objects: tuple[Tree, ...] = ()
    corrected: tuple[tuple[str, ...], datetime | None] = ((), None)
    """The places that were put back last, and when."""
    announced: bool = False

    @property
    def sums(self) -> dict[str, str]:
        """Checksums of what stands beside it, by kind and name."""
        return {f"{o['kind']}/{wanted_part(o, 'name')}": written_sum(o) for o in self.objects}


class _Foreseen(msgspec.Struct, frozen=True):
    """All that has to be written, and what stands beside the objects now."""

    changes: list[_Change]
    made: MadeOf


class GatewayRoutes:
    """Carries out EnsureRoutes and RestoreRoutes."""

    def __init__(
        self,
        objects: BesideObjects,
        scripts: ScriptSource,
        runner: ScriptRunner,
        *,
        allow_cluster_scoped: bool = False,
        tried: Tried | None = None,
    ) -> None:
        self._objects = objects
        self._beside = Beside(objects)
        self._scripts = scripts
        self._answers = Answers(runner, tried)
        self._look = Look(objects, allow_cluster_scoped=allow_cluster_scoped)

    # --- ensure -----------------------------------------------------------------------------------

    async def ensure(self, plan: RoutePlan, at: datetime | None = None) -> Outcome:
        """All gateway objects follow the plan. Where somebody's change is put back, `at` is noted with the places."""
        return await (self._announce(plan) if plan.announces else self._lead(plan, at))

    async def _announce(self, plan: RoutePlan) -> Outcome:
        """Objects whose kinds ask for it name the new revision's Services; what cannot be done is not needed."""
        wanted = tuple(filter(self._announces, plan.references))
        if not wanted:
            return Done()
        outcome = await self._lead(
            msgspec.structs.replace(plan, references=wanted), among=plan.references
        )
        # A script that fails says so when it is asked for the step itself, and never keeps an object from its owner.
        return Done() if isinstance(outcome, Refusal) else outcome

    def _announces(self, reference: Reference) -> bool:
        script = self._scripts.resolve(reference)
        return not isinstance(script, MissingScript) and _header_of(script).announces

    async def _lead(
        self,
        plan: RoutePlan,
        at: datetime | None = None,
        *,
        among: tuple[Reference, ...] = (),
    ) -> Outcome:
        """The plan's references follow it; `among` are all there are, where the plan is about some."""
        foreseen = await self._foresee(plan, among or plan.references)
        if isinstance(foreseen, Refusal):
            return foreseen
        if not foreseen.changes:
            return Done()
        for change in sorted(foreseen.changes, key=lambda change: -change.depth):
            present = foreseen.made.get(place_of(change.target.reference), ())
            noted = msgspec.structs.replace(change, corrected=_corrections(change, present, at))
            outcome = await self._write(noted, present, plan)
            if not isinstance(outcome, Done):
                return outcome
        return Done(wrote=True)

    async def rehearse(self, plan: RoutePlan) -> Outcome:
        """What `ensure` would refuse before it writes is refused; nothing is written."""
        foreseen = await self._foresee(plan, plan.references)
        return foreseen if isinstance(foreseen, Refusal) else Done()

    async def _foresee(self, plan: RoutePlan, among: tuple[Reference, ...]) -> _Foreseen | Refusal:
        """What has to be written; a refusal where anything is known to stand in the way."""
        if plan.weight is None and not plan.matches:
            return refusals.nothing_to_route(plan)
        targets = targets_of(plan.references, plan.namespace)
        standings = await self._standings(targets, plan)
        if isinstance(standings, Refusal):
            return standings
        made = await self._beside.seen(plan.references, plan.namespace, plan.rollout_uid)
        follow = [
            _follows(standing, made.get(place_of(target.reference), ()), plan)
            for target, standing in zip(targets, standings, strict=True)
        ]
        if all(follow):
            return _Foreseen([], made)
        scripted = self._scripted(targets, among)
        if isinstance(scripted, Refusal):
            return scripted
        changes = await self._changes(scripted, standings, follow, plan)
        return changes if isinstance(changes, Refusal) else _Foreseen(changes, made)

    async def _standings(
        self, targets: tuple[Target, ...], plan: RoutePlan
    ) -> list[Standing] | Refusal:
        """How all objects stand; a refusal if one cannot be led."""
        for target in targets:
            if refused := await self._look.refused_kind(target):
                return refused
        found: list[Standing] = []
        seen = await self._look.read_all(targets, plan.namespace)
        for target, standing in zip(targets, seen, strict=True):
            if standing is None:
                return refusals.not_found(target.subject)
            if isinstance(standing, Refusal):
                return standing
            if taken := other_user(standing.record, plan.rollout, target.subject, plan.namespace):
                return taken
            if standing.touched and standing.held:
                return refusals.held(standing, target.subject)
            if standing.ambiguous:
                return refusals.ambiguous_change(standing, target.subject)
            found.append(standing)
        return found

    def _scripted(
        self, targets: tuple[Target, ...], among: tuple[Reference, ...]
    ) -> list[_Scripted] | Refusal:
        """Every target's scripts and its depth among all references; a refusal if one has no script."""
        found: list[_Scripted] = []
        for target in targets:
            scripts: list[Script] = []
            for reference in target.references:
                script = self._scripts.resolve(reference)
                if isinstance(script, MissingScript):
                    return refusals.script_missing(script, target.subject)
                scripts.append(script)
            headers = tuple(map(_header_of, scripts))
            found.append(_Scripted(target, tuple(scripts), headers))
        depths = self._depths(among)
        if isinstance(depths, Cycle):
            return refusals.script_cycle(depths)
        return [
            msgspec.structs.replace(item, depth=depths[kind_of(item.target.reference)])
            for item in found
        ]

    def _depths(self, references: tuple[Reference, ...]) -> dict[GroupKind, int] | Cycle:
        """Depth of each kind that has a script."""
        headers = tuple(
            (reference, _header_of(script))
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
        scripted: list[_Scripted],
        standings: list[Standing],
        follow: list[bool],
        plan: RoutePlan,
    ) -> list[_Change] | Refusal:
        """What has to be written; a refusal if one script does not know."""
        originals = [
            (item.target.reference, standing.original)
            for item, standing in zip(scripted, standings, strict=True)
        ]

        def siblings(item: _Scripted, header: ScriptHeader) -> tuple[Json, ...]:
            return tuple(
                sibling_of(reference, plan, original)
                for reference, original in originals
                if reference != item.target.reference and kind_of(reference) in header.siblings
            )

        changes: list[_Change] = []
        for item, standing, follows in zip(scripted, standings, follow, strict=True):
            if follows:
                continue
            served = _as_served(item.target.references, standing.live)
            question = Question(
                subject=item.target.subject,
                original=standing.original,
                scripts=tuple(zip(served, item.scripts, strict=True)),
                siblings=tuple(siblings(item, header) for header in item.headers),
                left_out=frozenset(
                    place
                    for place, reference in enumerate(item.target.references)
                    if reference in plan.left_out
                ),
            )
            desired = await self._answers.desired(question, plan)
            if isinstance(desired, Refusal):
                return desired
            announced = any(header.announces for header in item.headers)
            change = _Change(
                item.target,
                item.depth,
                standing,
                desired.content,
                desired.objects,
                announced=announced,
            )
            changes.append(change)
        return changes

    async def _write(self, change: _Change, present: tuple[Made, ...], plan: RoutePlan) -> Outcome:
        """Make what has to stand beside the object, write it, and remove what stands there no more."""
        reference = change.target.reference
        made = await self._beside.make(change.objects, present, plan, reference)
        if not isinstance(made, Done):
            return made
        written = await self._write_object(change, plan)
        if not isinstance(written, Done):
            return written
        return await self._beside.clear(present, change.sums, plan.namespace, reference)

    async def _write_object(self, change: _Change, plan: RoutePlan) -> Outcome:
        """Write one object, and once more if the server changed what it was given."""
        original, desired = change.standing.original, change.desired
        stored = await self._replace(change, plan, change.standing.live, desired)
        if isinstance(stored, (Refusal, NotYet)):
            return stored
        kept = content_of(stored)
        without = restore(original, desired, kept)
        if not without.touched and same(without.content, original):
            return Done(wrote=True)
        if same(kept, original):
            return refusals.change_not_kept(change.target.subject)
        again = await self._replace(change, plan, stored, kept)
        return again if isinstance(again, (Refusal, NotYet)) else Done(wrote=True)

    async def _replace(
        self, change: _Change, plan: RoutePlan, live: Tree, desired: Tree
    ) -> Tree | Refusal | NotYet:
        original = write_original(change.standing.original)
        state = write_state(
            release=plan.release,
            rollout=plan.rollout,
            plan=plan.identity,
            depth=change.depth,
            original=original,
            desired=desired,
            objects=change.sums,
            corrected=change.corrected[0],
            corrected_at=change.corrected[1],
            announced=change.announced,
            namespace=plan.namespace,
        )
        ours = {names.ORIGINAL_SPEC: original, names.ROUTE_STATE: state}
        body = with_content(live, desired, ours)
        stored = await self._put(change.target, plan.namespace, body)
        return decode_tree(stored) if isinstance(stored, bytes) else stored

    async def _put(self, target: Target, namespace: str, body: bytes) -> bytes | Refusal | NotYet:
        try:
            return await self._objects.replace(target.reference, namespace, body)
        except (NotFound, Forbidden, Invalid, Conflict) as failure:
            return refusals.of_write(failure, target.subject)

    # --- restore ----------------------------------------------------------------------------------

    async def restore(self, action: RestoreRoutes) -> Outcome:
        """All gateway objects are what they were, with what others changed since."""
        targets = targets_of(action.references, action.namespace)
        seen = await self._look.read_all(targets, action.namespace)
        made = await self._beside.seen(action.references, action.namespace, action.rollout_uid)
        in_use: list[tuple[int, int, Target, Standing | None]] = []
        for index, (target, standing) in enumerate(zip(targets, seen, strict=True)):
            if isinstance(standing, Refusal):
                return standing
            ours = standing if standing is not None and _is_led(standing, action, target) else None
            if ours is None and place_of(target.reference) not in made:
                continue
            record = ours.record if ours is not None else None
            in_use.append((record.depth if record else 0, -index, target, ours))
        in_use.sort(key=lambda item: item[:2])
        for _, alike in groupby(in_use, key=lambda item: item[0]):
            outcomes = [
                await self._give_back(target, action.namespace, standing, made)
                for _, _, target, standing in alike
            ]
            if failed := next((item for item in outcomes if not isinstance(item, Done)), None):
                return failed
        return Done(wrote=bool(in_use))

    async def _give_back(
        self, target: Target, namespace: str, standing: Standing | None, made: MadeOf
    ) -> Outcome:
        """The object is its owner's again, and then nothing stands beside it."""
        if standing is not None:
            outcome = await self._put_back(target, namespace, standing)
            if not isinstance(outcome, Done):
                return outcome
        present = made.get(place_of(target.reference), ())
        return await self._beside.clear(present, (), namespace, target.reference)

    async def _put_back(self, target: Target, namespace: str, standing: Standing) -> Outcome:
        body = with_content(standing.live, standing.original, {})
        stored = await self._put(target, namespace, body)
        match stored:
            case Refusal(reason="GatewayObjectNotFound"):
                return Done()
            case Refusal() | NotYet():
                return stored
            case _:
                await self._objects.disown(target.reference, namespace, stored)
                return Done(wrote=True)


def _header_of(script: Script) -> ScriptHeader:
    return script.header


def _follows(standing: Standing, made: tuple[Made, ...], plan: RoutePlan) -> bool:
    """The object and what stands beside it say what the plan says."""
    record = standing.record
    objects = record.objects if record is not None else {}
    return standing.follows(plan.identity) and stands(objects, made)


def _corrections(
    change: _Change, made: tuple[Made, ...], at: datetime | None
) -> tuple[tuple[str, ...], datetime | None]:
    """What this write puts back, at `at`; else what the one before did."""
    record = change.standing.record
    if record is None:
        return (), None
    beside = disturbances(record.objects, made)
    names = (item.identity if isinstance(item, Made) else item for item in beside)
    places = (*(item.path for item in change.standing.changes), *names)
    return (places, at) if places and at is not None else (record.corrected, record.corrected_at)


def _is_led(standing: Standing, action: RestoreRoutes, target: Target) -> bool:
    """This Rollout leads traffic with the object."""
    taken = other_user(standing.record, action.rollout, target.subject, action.namespace)
    return standing.in_use and taken is None


def _as_served(references: tuple[Reference, ...], live: Tree) -> tuple[Reference, ...]:
    """References in the version the server speaks: what scripts are told and what they make is of that version."""
    version = live.get("apiVersion")
    if not isinstance(version, str):
        return references
    return tuple(msgspec.structs.replace(item, api_version=version) for item in references)
