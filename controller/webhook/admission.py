"""One handler per admission path: reads the objects for a verdict, calls the domain, and returns the verdict as a
patch.

Invariant: handlers decide nothing themselves, keep nothing between requests and write nothing: everybody who reaches
the port can forge a review, so a review must have no effect but its answer. Our own writes always pass: the webhook
configurations exclude our ServiceAccount, and here our own user name is let through as well, for a controller that runs
outside the cluster under another name.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from controller.api.jsontree import JsonObject, child, text
from controller.api.meta import ObjectMeta
from controller.api.rollout import Rollout
from controller.api.validation.rules import DEFAULT_RULES, Rules
from controller.api.workload_kinds import KindName, WorkloadKind, workload_kind
from controller.api.workloads import ReplicaSet
from controller.domain.admission.accounts import (
    NamedAccount,
    accounts_of_rollout,
    accounts_of_routing,
)
from controller.domain.admission.approvals import JudgedStatus, judge_status
from controller.domain.admission.checks import AskingHeaders
from controller.domain.admission.named import Named, left_workload, named_in_routing
from controller.domain.admission.other_routes import other_routes
from controller.domain.admission.overridden import overridden
from controller.domain.admission.podset import admit_set
from controller.domain.admission.rollout import admit_rollout
from controller.domain.admission.service import admit_service, pin_of
from controller.domain.admission.surroundings import Seen, left_in_a_hold, remarks
from controller.domain.admission.traffic_routing import admit_traffic_routing
from controller.domain.admission.unauthenticated import unauthenticated
from controller.domain.admission.verdict import Amended, Refused, Verdict, in_one, json_patch
from controller.domain.admission.workload import (
    admit_deployment,
    governing,
    keeps_label,
    loses_label,
    lost_its_record,
    needs_replica_sets,
    stable_template_of,
)
from controller.domain.decision import Reference
from controller.domain.traffic.plan.abilities import Headers
from controller.runtime.clock import Clock
from controller.webhook.offload import Offload
from controller.webhook.review import ALLOWED, AdmissionRequest, Answer, User, refused
from controller.webhook.trees import tree

LOOK_SECONDS = 2.0
"""Seconds for reading the objects that a Rollout names; the API server waits for 10."""
STATUS_PATH = "/mutate-rollouts-status"
Handler = Callable[[AdmissionRequest], Awaitable[Answer]]


class RolloutReader(Protocol):
    """The Rollouts of a namespace, as v1beta1; from a synced cache, else from the API server."""

    async def rollouts(self, namespace: str) -> Sequence[Rollout]:
        """All Rollouts of the namespace."""
        ...

    async def latest(self, namespace: str) -> Sequence[Rollout]:
        """All Rollouts, from the API server: a cache may not have the newest objects yet."""
        ...


class ReplicaSetReader(Protocol):
    """The ReplicaSets of a Deployment, and what releases keep; from a synced cache, else from the API server."""

    async def of(self, deployment_uid: str, namespace: str) -> Sequence[ReplicaSet]:
        """The objects whose controller has this UID, of any size."""
        ...

    async def kept_owners(self, rollout: ObjectMeta, workload_uid: str) -> str:
        """The owner's own values of a workload as its release keeps them; empty if it keeps none."""
        ...


class NamedReader(Protocol):
    """The objects that a Rollout names."""

    async def look(self, namespace: str, named: Sequence[Named]) -> Mapping[Named, Seen]:
        """These objects; from synced caches, else from the API server, within a bound."""
        ...

    async def look_again(self, namespace: str, named: Sequence[Named]) -> Mapping[Named, Seen]:
        """These objects now, from the API server, within a bound."""
        ...

    async def beside(
        self, namespace: str, named: Sequence[Named]
    ) -> Mapping[Named, Sequence[JsonObject]]:
        """For each gateway object among these: all objects of its kind in the namespace, itself included."""
        ...


class Authors(Protocol):
    """The rights of the author of a Rollout or TrafficRouting."""

    async def refuses(self, user: User, namespace: str, found: NamedAccount) -> str:
        """Why the author may not use a ServiceAccount; empty if the author may."""
        ...


OwnWrites = Callable[[str, str], bool]
"""Whether a user, under a field manager, is the controller."""


class Admission:
    """The handlers and their readers."""

    def __init__(
        self,
        rollouts: RolloutReader,
        replica_sets: ReplicaSetReader,
        clock: Clock,
        *,
        is_own: OwnWrites,
        rules: Rules = DEFAULT_RULES,
        headers: Headers | None = None,
        asking: AskingHeaders | None = None,
        offload: Offload | None = None,
        named: NamedReader | None = None,
        authors: Authors | None = None,
    ) -> None:
        """`is_own` recognises the controller's own writes; `headers` are those of the scripts of gateway objects,
        `asking` those of scripts that ask.

        Without `authors`, no author may name a script of the namespace.
        """
        self._rollouts = rollouts
        self._replica_sets = replica_sets
        self._clock = clock
        self._is_own = is_own
        self._rules = rules
        self._headers = headers
        self._asking = asking
        self._offload = offload or Offload()
        self._of_workloads = Offload()
        """Nobody releases anything while workloads and Services are not judged: they wait for no Rollout."""
        self._named = named
        self._authors = authors

    def handlers(self) -> dict[str, Handler]:
        """Paths and their handlers."""
        return {
            "/validate-rollouts-kruise-io-rollout": self.rollout,
            "/validate-rollouts-kruise-io-trafficrouting": self.traffic_routing,
            STATUS_PATH: self.rollout_status,
            "/mutate-apps-v1-deployment": self.deployment,
            "/mutate-v1-service": self.service,
            "/mutate-apps-v1-daemonset": self.pod_set,
            "/mutate-apps-kruise-io-v1alpha1-cloneset": self.pod_set,
            "/mutate-apps-kruise-io-v1alpha1-daemonset": self.pod_set,
            "/mutate-unified-workload": self.pod_set,
        }

    async def rollout(self, request: AdmissionRequest) -> Answer:
        """Field rules, one Rollout per workload, and the fields that must not change during a release."""
        if request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
            return ALLOWED
        old, new = await _trees(request, self._offload)
        if new is None:
            return ALLOWED
        before = old if request.operation == "UPDATE" else None
        others = await self._rollouts.latest(request.namespace)
        verdict = await self._offload.run(
            request.objects,
            lambda: admit_rollout(before, new, others, self._rules, self._headers, self._asking),
        )
        if verdict.findings:
            return Answer(False, (), verdict.message, 422, verdict.warnings)
        if why := await self._refused_accounts(request, accounts_of_rollout(before, new)):
            return refused(why, 403)
        if before is not None and (held := await self._left_in_a_hold(request, before, new)):
            return refused(held)
        about = await self._about(request.namespace, verdict.named)
        return Answer(warnings=(*verdict.warnings, *about))

    async def traffic_routing(self, request: AdmissionRequest) -> Answer:
        """Abilities that a TrafficRouting needs and its gateways lack."""
        headers = self._headers or _no_scripts
        if request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
            return ALLOWED
        old, new = await _trees(request, self._offload)
        if new is None:
            return ALLOWED
        before = old if request.operation == "UPDATE" else None
        verdict = await self._offload.run(
            request.objects, lambda: admit_traffic_routing(before, new, headers)
        )
        if verdict.findings:
            return Answer(False, (), verdict.message, 422, verdict.warnings)
        if why := await self._refused_accounts(request, accounts_of_routing(before, new)):
            return refused(why, 403)
        about = await self._about(request.namespace, named_in_routing(new))
        return Answer(warnings=(*verdict.warnings, *about))

    async def _refused_accounts(
        self, request: AdmissionRequest, found: Sequence[NamedAccount]
    ) -> str:
        """Why the author may not use one of these accounts; empty if the author may use all."""
        for one in found:
            if self._authors is None:
                return f"{one.path}: scripts of a namespace are not served here"
            if why := await self._authors.refuses(request.user_info, request.namespace, one):
                return why
        return ""

    async def _left_in_a_hold(
        self, request: AdmissionRequest, before: JsonObject, new: JsonObject
    ) -> str:
        """Why the Rollout may not leave its workload now; empty if it may, or if that is not known in time."""
        left = left_workload(before, new)
        if self._named is None or left is None:
            return ""
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                seen = await self._named.look(request.namespace, (left,))
        except TimeoutError:
            return ""
        found = left_in_a_hold(left, seen[left], text(new, "metadata", "name"))
        return in_one(found) if found else ""

    async def _about(self, namespace: str, named: Sequence[Named]) -> tuple[str, ...]:
        """Warnings about the objects that a Rollout names; none if reading them takes long."""
        if self._named is None or not named:
            return ()
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                seen = dict(await self._named.look(namespace, named))
                doubtful = {
                    one for remark in remarks(named, seen, namespace) for one in remark.about
                }
                again = [one for one in named if one in doubtful]
                if again:
                    seen.update(await self._named.look_again(namespace, again))
                beside = await self._named.beside(namespace, named)
        except TimeoutError:
            return ()
        texts = tuple(remark.text for remark in remarks(named, seen, namespace))
        return (
            *texts,
            *unauthenticated(named, seen, namespace),
            *other_routes(named, beside, namespace),
        )

    async def rollout_status(self, request: AdmissionRequest) -> Answer:
        """Keeps the stored status but for what people may ask for, and records who asked."""
        objects = await self._update(request, self._offload, sub_resource="status")
        if objects is None:
            return ALLOWED
        old, new = objects
        user, now = request.user_info.username, self._clock.now()
        return await self._offload.run(
            request.objects, lambda: _answer_about_status(new, judge_status(old, new, user, now))
        )

    async def deployment(self, request: AdmissionRequest) -> Answer:
        """Holds and latches a Deployment under a Rollout."""
        objects = await self._update(request, self._of_workloads)
        if objects is None:
            return ALLOWED
        old, new = objects
        rollout = await self._governing(old, new, request.namespace)
        replica_sets = list[ReplicaSet]()
        if rollout is not None and needs_replica_sets(old, new):
            uid = text(new, "metadata", "uid") or text(old, "metadata", "uid")
            replica_sets += await self._replica_sets.of(uid, request.namespace)
        kept = await self._kept_owners(old, rollout)
        return await self._of_workloads.run(
            request.objects,
            lambda: _answer_about(
                old, new, rollout, admit_deployment(old, new, rollout, replica_sets, kept)
            ),
        )

    async def pod_set(self, request: AdmissionRequest) -> Answer:
        """Holds a StatefulSet, CloneSet, DaemonSet or a kind like them under a Rollout."""
        objects = await self._update(request, self._of_workloads)
        if objects is None:
            return ALLOWED
        old, new = objects
        name = KindName(text(new, "apiVersion"), text(new, "kind"))
        labels = {**_labels(old), **_labels(new)}
        kind = workload_kind(name.group, name.kind, labels)
        if kind is None or kind is WorkloadKind.DEPLOYMENT:
            return ALLOWED
        rollout = await self._governing(old, new, request.namespace)
        kept = await self._kept_owners(old, rollout)
        return await self._of_workloads.run(
            request.objects,
            lambda: _answer_about(old, new, rollout, admit_set(old, new, rollout, kind, kept)),
        )

    async def _kept_owners(self, old: JsonObject, rollout: Rollout | None) -> str:
        """The owner's own values, where the workload has lost its record of them."""
        if rollout is None or not lost_its_record(old):
            return ""
        return await self._replica_sets.kept_owners(rollout.metadata, text(old, "metadata", "uid"))

    async def _governing(self, old: JsonObject, new: JsonObject, namespace: str) -> Rollout | None:
        """The Rollout of a workload that is labelled, or was until this request."""
        leaving = loses_label(new)
        if leaving and not keeps_label(old, new):
            return None
        known = governing(new, await self._rollouts.rollouts(namespace), old)
        if known is not None or leaving:
            return known
        # The leader labels; this replica's watch may be behind the leader's.
        return governing(new, await self._rollouts.latest(namespace), old)

    async def service(self, request: AdmissionRequest) -> Answer:
        """Restores the pin that an owner's apply removed."""
        objects = await self._update(request, self._of_workloads)
        if objects is None or pin_of(objects[0]) is None:
            return ALLOWED
        old, new = objects
        rollouts = await self._rollouts.rollouts(request.namespace)
        return _answer(new, admit_service(old, new, rollouts))

    async def _update(
        self, request: AdmissionRequest, offload: Offload, sub_resource: str = ""
    ) -> tuple[JsonObject, JsonObject] | None:
        """Old and new object of an update that is not our own; None for anything else."""
        if request.operation != "UPDATE" or request.sub_resource != sub_resource:
            return None
        manager = request.options.field_manager if request.options is not None else ""
        if self._is_own(request.user_info.username, manager):
            return None
        old, new = await _trees(request, offload)
        return None if old is None or new is None else (old, new)


async def _trees(
    request: AdmissionRequest, offload: Offload
) -> tuple[JsonObject | None, JsonObject | None]:
    """Old and new object, as far as rules read them."""
    return await offload.run(
        request.objects, lambda: (tree(request.old_object), tree(request.object))
    )


def _no_scripts(reference: Reference) -> None:
    """Used if scripts are not known."""


def _labels(workload: JsonObject) -> dict[str, str]:
    labels = child(workload, "metadata", "labels")
    return {name: value for name, value in labels.items() if isinstance(value, str)}


def _answer_about(
    old: JsonObject, new: JsonObject, rollout: Rollout | None, verdict: Verdict
) -> Answer:
    """The answer about a workload, with warnings for its owner."""
    stored = verdict.obj if isinstance(verdict, Amended) else new
    answer = _answer(new, verdict)
    template = stable_template_of(rollout) if rollout is not None else ""
    return msgspec.structs.replace(answer, warnings=overridden(old, new, stored, template))


def _answer_about_status(new: JsonObject, judged: JudgedStatus) -> Answer:
    warnings = (judged.warning,) if judged.warning else ()
    return msgspec.structs.replace(_answer(new, judged.verdict), warnings=warnings)


def _answer(new: JsonObject, verdict: Verdict) -> Answer:
    if isinstance(verdict, Refused):
        return refused(verdict.message)
    if isinstance(verdict, Amended):
        return msgspec.structs.replace(ALLOWED, patch=json_patch(new, verdict.obj))
    return ALLOWED
