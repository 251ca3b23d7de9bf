"""A finding of a rule: the field, the kind of mistake, and the remedy."""

from enum import StrEnum

import msgspec


class Fault(StrEnum):
    """A mistake in a field, in the words of the API server."""

    REQUIRED = "Required value"
    INVALID = "Invalid value"
    UNSUPPORTED = "Unsupported value"
    FORBIDDEN = "Forbidden"
    DUPLICATE = "Duplicate value"


class FieldError(msgspec.Struct, frozen=True):
    """One finding: its field, its kind, and a remedy."""

    path: str
    kind: Fault
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}: {self.detail}"


Findings = tuple[FieldError, ...]
