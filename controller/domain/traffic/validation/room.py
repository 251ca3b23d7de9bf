"""Whether the annotations of a gateway object have room for our copy of its original, and for our record.

Why: the API server refuses an object whose annotations are larger than 256 KiB. The copy needs as much room as the
object itself, and kubectl's own copy of an applied manifest is copied, too. A release that noticed this at its first
route had made the pods of a step in vain. Invariant: the sum is the API server's: bytes of all names and values.
"""

from controller.api.names import LAST_APPLIED, ORIGINAL_SPEC
from controller.domain.traffic.original.content import strings_of
from controller.domain.traffic.tree import Tree
from controller.domain.traffic.validation.violation import Violation

LIMIT = 256 * 1024
"""Bytes of all annotations of one object (`TotalAnnotationSizeLimitB` of Kubernetes)."""
LATER_STEPS = 8 * 1024
"""Bytes by which the record of a later step may be larger, kept free before the first new pod."""


def size_of(annotations: dict[str, str]) -> int:
    """The bytes that the API server counts."""
    return sum(len(part.encode()) for item in annotations.items() for part in item)


def without_room(desired: Tree, ours: dict[str, str], spare: int = 0) -> Violation | None:
    """Why the annotations of an object with content `desired` cannot keep ours, too; None if they can."""
    owners = strings_of(desired.get("annotations"))
    size = size_of({**owners, **ours})
    if size + spare <= LIMIT:
        return None
    copy, applied = (
        len(annotations.get(name, "").encode())
        for annotations, name in ((ours, ORIGINAL_SPEC), (owners, LAST_APPLIED))
    )
    more = "" if size > LIMIT else f", and later steps may need {spare} more"
    return Violation(
        f"with the copy that a release stores in them ({copy} bytes) its annotations would have {size} bytes{more}; "
        f"Kubernetes allows {LIMIT}: {_remedy(applied)}"
    )


def _remedy(applied: int) -> str:
    if not applied:
        return "divide it into smaller objects, or shorten its own annotations"
    return (
        "divide it into smaller objects, shorten its own annotations, or apply it with kubectl apply --server-side "
        f"and remove its annotation {LAST_APPLIED}, which has {applied} bytes and is copied, too"
    )
