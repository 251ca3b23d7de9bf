"""Services: the pin of the stable Service, and the canary Service.

Invariant: in the stable Service only one selector key and our own label and annotation are ever written, and only over
the version that was observed; a canary Service that was not made for this Rollout is neither changed nor deleted (B16).
"""

import msgspec

from controller.api import names
from controller.api.jsontree import JsonObject
from controller.api.meta import Key
from controller.api.networking import Service
from controller.domain import reasons
from controller.domain.admission.service import pin_annotation
from controller.domain.decision import (
    Done,
    EnsureCanaryService,
    Outcome,
    PinService,
    Refusal,
    UnpinService,
)
from controller.domain.rollout.routes.services import in_use, made_for
from controller.domain.traffic.companions.canary_service import canary_selector, canary_service_body
from controller.effects.ownership import Marks
from controller.effects.writes import Writes
from controller.errors import NotFound
from controller.kube.resources import SERVICES


async def pin(writes: Writes, action: PinService) -> Done:
    """Narrow the selector to one revision. Admission reads the recorded pin, and keeps it under an applied manifest."""
    patch = {
        "metadata": {
            "resourceVersion": action.resource_version,
            "labels": {names.PINNED: "true"},
            "annotations": {names.PIN: pin_annotation(action.label, action.revision)},
        },
        "spec": {"selector": {action.label: action.revision}},
    }
    await writes.merge_unowned(SERVICES, action.service, patch)
    return Done(wrote=True)


async def unpin(writes: Writes, action: UnpinService) -> Done:
    """Remove the pin, then its marks: while there is a mark, the Service counts as pinned."""
    patch = {
        "metadata": {"resourceVersion": action.resource_version},
        "spec": {"selector": {action.label: None}},
    }
    marks = Marks((names.PIN,), (names.PINNED,))
    await writes.merge_back(SERVICES, action.service, patch, marks)
    return Done(wrote=True)


async def ensure_canary(writes: Writes, action: EnsureCanaryService) -> Outcome:
    """Create the canary Service from the stable one, or change selector and ports of an existing one of ours."""
    key = Key(action.stable.namespace, action.name)
    try:
        stable = await writes.read_version(SERVICES, action.stable, action.stable_version)
    except NotFound:
        return Refusal(
            reason=reasons.SERVICE_NOT_FOUND,
            message=f"Service {action.stable} does not exist: create it again",
            object=f"Service {action.stable}",
        )
    body = canary_service_body(action, stable)
    if isinstance(body, Refusal):
        return body
    if await writes.create(SERVICES, key, body):
        return Done(wrote=True)
    return await _update_canary(writes, action, key, body)


async def _update_canary(
    writes: Writes, action: EnsureCanaryService, key: Key, body: bytes
) -> Outcome:
    existing = msgspec.json.decode(await writes.read(SERVICES, key), type=Service)
    if not made_for(existing, action.rollout_uid):
        if names.ROLLOUT_UID in existing.metadata.annotations:
            return in_use(action.stable, action.name)
        return Refusal(
            reason=reasons.SERVICE_NOT_OURS,
            message=f"Service {key} exists and was not made for this Rollout: rename or remove it, or "
            "set disableGenerateCanaryService",
            object=f"Service {key}",
        )
    copy = msgspec.json.decode(body, type=Service).spec
    present = existing.spec.selector
    wanted = copy.selector if action.renewed else canary_selector(present, action)
    left_out = dict.fromkeys(present.keys() - wanted.keys())
    spec: JsonObject = {} if present == wanted else {"selector": {**wanted, **left_out}}
    if copy.ports != existing.spec.ports:
        spec["ports"] = msgspec.json.decode(body)["spec"]["ports"]
    if not spec:
        return Done()
    patch = {"metadata": {"resourceVersion": existing.metadata.resource_version}, "spec": spec}
    await writes.merge(SERVICES, key, patch)
    return Done(wrote=True)
