"""A finding about one object: its fate, and the act that a person has to do first.

Invariant: `first` are commands that can be copied, in their order; empty if nothing has to be done.
"""

from controller.api.jsontree import JsonObject, text
from controller.cli.views.view import View


class Finding(View, frozen=True):
    """One object, its fate, and the commands that have to come first."""

    kind: str
    namespace: str
    name: str
    says: str
    first: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """Kind and name, as people write them."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"


class Findings(View, frozen=True):
    """All findings; `gaps` names each kind that could not be listed, and the reason."""

    items: tuple[Finding, ...]
    gaps: tuple[str, ...] = ()

    @property
    def open(self) -> bool:
        """Whether somebody has to do something first, or a gap leaves that unknown."""
        return bool(self.gaps) or any(item.first for item in self.items)


def about(obj: JsonObject, says: str, *first: str) -> Finding:
    """A finding about this object."""
    meta = (text(obj, "metadata", "namespace"), text(obj, "metadata", "name"))
    return Finding(text(obj, "kind"), *meta, says, first)


def kubectl(obj: JsonObject, verb: str, *words: str) -> str:
    """A command about this object."""
    namespace = text(obj, "metadata", "namespace")
    place = f" -n {namespace}" if namespace else ""
    kind, name = type_of(obj), text(obj, "metadata", "name")
    return " ".join((f"kubectl{place} {verb} {kind} {name}", *words))


def type_of(obj: JsonObject) -> str:
    """The type in the form that kubectl resolves without ambiguity."""
    group, slash, _ = text(obj, "apiVersion").partition("/")
    kind = text(obj, "kind").lower()
    return f"{kind}.{group}" if slash and "." in group else kind
