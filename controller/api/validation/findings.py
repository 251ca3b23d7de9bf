"""What a rule finds: which field, of which kind the mistake is, and what to do about it."""

from enum import StrEnum

import msgspec


class Fault(StrEnum):
    """What is wrong with a field, in the words of the API server."""

    REQUIRED = "Required value"
    INVALID = "Invalid value"
    UNSUPPORTED = "Unsupported value"
    FORBIDDEN = "Forbidden"
    DUPLICATE = "Duplicate value"


class FieldError(msgspec.Struct, frozen=True):
    """One finding: where, of which kind, and what to do about it."""

    path: str
    kind: Fault
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}: {self.detail}"


Findings = tuple[FieldError, ...]
