"""`/convert`: Rollouts from one version to the other.

Invariant: needs nothing but the request, so it answers from the first moment on; the caches are filled through it. One
object is decoded at a time. A stored object that cannot be converted is shown without its plan, with the reason in an
annotation: a failure in its place would fail every list of the cluster in that version. Such a view is never
stored: converting it back is refused.
"""

import logging

import msgspec

from controller.api.conversion import Fits, Unconvertible, converted
from controller.api.jsontree import JsonObject
from controller.api.names import KEPT_V1ALPHA1, KEPT_V1BETA1, NOT_CONVERTED, V1ALPHA1, V1BETA1
from controller.api.schema import problems
from controller.kube.nesting import outlined
from controller.kube.packaged_schemas import schema_of
from controller.webhook.review import ConversionReview, conversion_response
from controller.webhook.trees import TooManyValues, check_whole, convertible

log = logging.getLogger(__name__)
REMEDY = "read and change it in version v1beta1"


def fits_v1beta1(obj: JsonObject) -> bool:
    """Whether the installed schema takes this `spec`; the API server drops unknown fields by itself."""
    found = problems(obj, schema_of(V1BETA1, "Rollout"))
    return all(problem.startswith("unknown field") for problem in found)


def convert(review: ConversionReview, fits: Fits = fits_v1beta1) -> bytes:
    """The answer to a conversion request; `fits` judges what annotations of the objects add to them."""
    results: list[msgspec.Raw] = []
    for raw in review.request.objects:
        result = _one(raw, review.request.desired_api_version, fits)
        if isinstance(result, Unconvertible):
            return conversion_response(review, (), result.message)
        results.append(msgspec.Raw(msgspec.json.encode(result)))
    return conversion_response(review, tuple(results), "")


def _one(raw: msgspec.Raw, version: str, fits: Fits) -> JsonObject | Unconvertible:
    """The object in this version; a stored one at least by its name."""
    try:
        check_whole(raw)
        obj = convertible(raw)
        if version != V1ALPHA1 and NOT_CONVERTED in _texts(obj, "annotations"):
            return Unconvertible(f"this is not the whole object: {REMEDY}")
        return converted(obj, version, fits)
    except (TooManyValues, msgspec.MsgspecError, RecursionError) as failure:
        why = str(failure)
    if version != V1ALPHA1:
        # Stored objects are v1beta1, so this is a write, and its author reads the reason.
        return Unconvertible(why)
    try:
        return _by_its_name(raw, version, why)
    except (msgspec.MsgspecError, RecursionError) as failure:
        return Unconvertible(f"{why}; {failure}")


class _Reference(msgspec.Struct, frozen=True):
    reference: dict[str, str] = msgspec.field(name="workloadRef", default={})


def _by_its_name(raw: msgspec.Raw, version: str, why: str) -> JsonObject:
    """The object as v1alpha1, with its metadata, its workload and its status, and without its plan."""
    obj: JsonObject = dict(msgspec.json.decode(outlined(bytes(raw)), type=dict[str, msgspec.Raw]))
    metadata: JsonObject = dict(_parts(obj.get("metadata")))
    kept = {
        name: text
        for name, text in _texts(obj, "annotations", metadata).items()
        if name not in (KEPT_V1ALPHA1, KEPT_V1BETA1)
    }
    metadata["annotations"] = {**kept, NOT_CONVERTED: f"{why}; {REMEDY}"}
    log.warning("a Rollout is shown without its plan in %s: %s", version, why)
    spec = {"objectRef": {"workloadRef": _reference(obj.get("spec"))}}
    return {**obj, "apiVersion": version, "metadata": metadata, "spec": spec}


def _reference(spec: object) -> dict[str, str]:
    try:
        return (
            msgspec.json.decode(spec, type=_Reference).reference
            if isinstance(spec, msgspec.Raw)
            else {}
        )
    except msgspec.MsgspecError:
        return {}


def _parts(raw: object) -> dict[str, msgspec.Raw]:
    return (
        msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        if isinstance(raw, msgspec.Raw)
        else {}
    )


def _texts(obj: JsonObject, name: str, metadata: JsonObject | None = None) -> dict[str, object]:
    """A map of the object's metadata, decoded or not."""
    owner = metadata if metadata is not None else obj.get("metadata")
    found = owner.get(name) if isinstance(owner, dict) else None
    if isinstance(found, msgspec.Raw):
        found = msgspec.json.decode(found)
    return found if isinstance(found, dict) else {}
