"""AdmissionReview and ConversionReview as they go over the wire.

Invariant: a request is decoded as far as we need it, objects not at all (`trees` does that, within limits); a response
echoes the version that was asked in, and its uid.
"""

import base64
from typing import Annotated

import msgspec

from controller.domain.admission.verdict import PatchOperation, shown_warnings
from controller.webhook.trees import NOTHING

Namespace = Annotated[str, msgspec.Meta(pattern="^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$")]
"""The value becomes a part of a path to read; a forged value must not lead to another path."""


class Resource(msgspec.Struct, frozen=True):
    """The object of the request."""

    group: str = ""
    version: str = ""
    resource: str = ""


class User(msgspec.Struct, frozen=True):
    """The user of the request, with all attributes that an authorizer uses."""

    username: str = ""
    uid: str = ""
    # Go writes a nil slice as null: a token webhook or a proxy may have given a key without values.
    groups: tuple[str, ...] | None = ()
    extra: dict[str, tuple[str, ...] | None] | None = {}


class Options(msgspec.Struct, frozen=True, rename="camel"):
    """How the request was made."""

    field_manager: str = ""


class AdmissionRequest(msgspec.Struct, frozen=True, rename="camel"):
    """One request to be judged; objects are JSON texts, null if the operation has none."""

    uid: str
    operation: str = ""
    resource: Resource = Resource()
    sub_resource: str = ""
    namespace: Namespace = ""
    name: str = ""
    user_info: User = User()
    object: msgspec.Raw = NOTHING
    old_object: msgspec.Raw = NOTHING
    dry_run: bool | None = None
    options: Options | None = None

    @property
    def objects(self) -> tuple[msgspec.Raw, msgspec.Raw]:
        """The old and the new object, each as JSON text."""
        return self.old_object, self.object


class AdmissionReview(msgspec.Struct, frozen=True, rename="camel"):
    """The envelope of a request."""

    request: AdmissionRequest
    api_version: str = "admission.k8s.io/v1"
    kind: str = "AdmissionReview"


class Answer(msgspec.Struct, frozen=True):
    """The response: allowed (with a patch, with warnings) or denied (with a text and an HTTP code)."""

    allowed: bool = True
    patch: tuple[PatchOperation, ...] = ()
    message: str = ""
    code: int = 200
    warnings: tuple[str, ...] = ()


ALLOWED = Answer()


def refused(message: str, code: int = 422) -> Answer:
    """The request does not pass."""
    return Answer(allowed=False, message=message, code=code)


def admission_response(review: AdmissionReview, answer: Answer) -> bytes:
    """`answer` as the API server reads it."""
    response: dict[str, object] = {"uid": review.request.uid, "allowed": answer.allowed}
    if answer.patch:
        patch = msgspec.json.encode(answer.patch)
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    if answer.message:
        response["status"] = {"message": answer.message, "code": answer.code}
    if answer.warnings:
        response["warnings"] = shown_warnings(answer.warnings)
    return msgspec.json.encode(
        {"apiVersion": review.api_version, "kind": "AdmissionReview", "response": response}
    )


class ConversionRequest(msgspec.Struct, frozen=True, rename="camel"):
    """Objects to be converted."""

    uid: str
    desired_api_version: str = msgspec.field(name="desiredAPIVersion", default="")
    objects: tuple[msgspec.Raw, ...] = ()


class ConversionReview(msgspec.Struct, frozen=True, rename="camel"):
    """The envelope of a conversion."""

    request: ConversionRequest
    api_version: str = "apiextensions.k8s.io/v1"
    kind: str = "ConversionReview"


def conversion_response(
    review: ConversionReview, objects: tuple[msgspec.Raw, ...], failure: str
) -> bytes:
    """The converted objects, or why there are none: if one object fails, the whole review fails."""
    result: dict[str, object] = {"status": "Success"}
    if failure:
        result = {"status": "Failure", "message": failure}
    response = {"uid": review.request.uid, "convertedObjects": objects, "result": result}
    return msgspec.json.encode(
        {"apiVersion": review.api_version, "kind": "ConversionReview", "response": response}
    )
