"""One remark about one line of a script."""

from typing import Literal

import msgspec


class Finding(msgspec.Struct, frozen=True, order=True):
    """A remark about one line."""

    line: int
    severity: Literal["error", "note"]
    message: str
