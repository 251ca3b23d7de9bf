"""Which objects of a plan have to wait until proxies know what they are going to name.

Invariant: only an object whose own content changes waits, and only for what is deeper than it, or made beside it. The
domain (`traffic/named_content`) knows for how long.
"""

import msgspec

from controller.domain.decision import NotYet
from controller.effects.gateways.changes import Change


class Settling(msgspec.Struct, frozen=True):
    """For `seconds` more, nothing may name what objects of greater depth say; `depth`: the greatest of them."""

    seconds: float = 0.0
    depth: int = 0
    written: bool = False
    """An object of this depth was written in this pass with other content."""

    def delays(self, change: Change) -> bool:
        """The object would name something that proxies may not know yet."""
        if not change.says_anew:
            return False
        if self.written or self.seconds:
            return change.depth < self.depth or bool(self.seconds and change.objects)
        return False

    def after(self, change: Change) -> "Settling":
        """The state after this object was written; deeper objects are written before."""
        if not change.says_anew or self.written or self.seconds:
            return self
        return Settling(depth=change.depth, written=True)

    def wait(self, change: Change) -> NotYet:
        """The object is written in a later pass, which sees the present writes, or the end of the grace period."""
        return NotYet(
            f"{change.target.subject} follows a grace period after the objects that it names",
            self.seconds or None,
        )
