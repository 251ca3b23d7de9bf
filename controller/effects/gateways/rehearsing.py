"""Asks the API server, before the first new pod, whether it accepts the objects that the first step will write.

Why: a policy, a webhook of the gateway's vendor or the kind's schema can refuse the content that a script wants. A
release that noticed this at its first route had made the pods of a step in vain. Invariant: only dry runs are sent, one
for each object and release, and one for each companion object. If a dry run cannot answer (a webhook has side effects,
or misses the canary Service, which does not exist yet), that is no refusal: the real write shows it. Must not write.
"""

from collections.abc import Awaitable, Iterable
from hashlib import sha256
from typing import NamedTuple

from controller.domain.decision import NotYet, Reference, Refusal, RoutePlan
from controller.domain.traffic.tree import Tree, encode
from controller.effects.gateways import failed_writes
from controller.effects.gateways.companions import RoutedObjects
from controller.effects.gateways.script_answers import TriedOf
from controller.effects.gateways.targets import Target
from controller.effects.rehearsing import NO_DRY_RUN
from controller.errors import AlreadyExists

_DENIED = "denied the request"
"""The API server's words if a webhook refuses."""


class Rehearsed(NamedTuple):
    """The writes about one gateway object. `desired` has no resource version: it is the same in every pass."""

    target: Target
    desired: Tree
    body: bytes
    companions: tuple[tuple[Reference, bytes], ...]


class Rehearsal:
    """Dry runs of a release's first writes; each is sent until it is accepted."""

    def __init__(self, objects: RoutedObjects, tried: TriedOf) -> None:
        self._objects = objects
        self._tried = tried

    async def refusal(self, writes: Iterable[Rehearsed], plan: RoutePlan) -> Refusal | None:
        """The first refusal by the API server."""
        for write in writes:
            trial = sha256(f"{plan.release} ".encode() + encode(write.desired)).digest()
            if self._tried.accepted(write.target.subject, trial):
                continue
            answer = await self._send(write, plan)
            if isinstance(answer, Refusal):
                return answer
            if answer is None:
                self._tried.accept(write.target.subject, trial)
        return None

    def accepted_step(self, step: int, plan: RoutePlan) -> bool:
        """The scripts accepted this plan of a later step in this release."""
        return self._tried.accepted(f"step {step}", _of_step(plan))

    def accept_step(self, step: int, plan: RoutePlan) -> None:
        """The scripts accepted the plan now."""
        self._tried.accept(f"step {step}", _of_step(plan))

    async def _send(self, write: Rehearsed, plan: RoutePlan) -> Refusal | NotYet | None:
        """The companion objects first, as they are written."""
        reference = write.target.reference
        for kind, body in write.companions:
            subject = f"{kind.kind} {plan.namespace}/{kind.name}"
            made = self._objects.create(kind, plan.namespace, body, dry_run=True)
            try:
                answer = await self._answer(made, subject, plan)
            except AlreadyExists:
                return failed_writes.somebody_elses(subject, f"{reference}")
            if answer is not None:
                return answer
        put = self._objects.replace(reference, plan.namespace, write.body, dry_run=True)
        return await self._answer(put, write.target.subject, plan)

    async def _answer(
        self, sent: Awaitable[object], subject: str, plan: RoutePlan
    ) -> Refusal | NotYet | None:
        try:
            await sent
        except failed_writes.WRITE_FAILURES as failure:
            if _is_no_answer(failure, plan):
                return None
            return failed_writes.of_write(failure, subject)
        return None


def _of_step(plan: RoutePlan) -> bytes:
    return sha256(f"{plan.release} {plan.identity}".encode()).digest()


def _is_no_answer(failure: Exception, plan: RoutePlan) -> bool:
    """Whether the real write may succeed nevertheless."""
    words = str(failure)
    if NO_DRY_RUN in words:
        return True
    missing = {item.canary_service for item in plan.references if not item.shared}
    return _DENIED in words and any(name in words.partition(_DENIED)[2] for name in missing)
