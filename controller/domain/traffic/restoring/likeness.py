"""Measures how similar two JSON values are; many comparisons share the same parts.

Aligning two lists compares every element with every other, and elements of one object share most of their parts. Equal
parts therefore become one node, and a comparison is remembered: a list of fifty rules costs milliseconds. Invariant:
two values are equal exactly when they have the same node.
Must not be kept after one alignment: nodes keep everything they have seen in memory.
"""

from controller.domain.traffic.tree import Json, encode

_LEVELS = 4
"""How deep unequal values are compared."""


class Node:
    """A value with its parts as nodes; equal values of one `Likeness` have one node."""

    __slots__ = ("elements", "members", "name")

    def __init__(self) -> None:
        self.members: dict[str, Node] | None = None
        self.elements: list[Node] | None = None
        self.name: str | None = None


class Likeness:
    """Compares values; remembers every answer."""

    def __init__(self) -> None:
        self._nodes: dict[bytes, Node] = {}
        self._scores: dict[tuple[Node, Node, int], float] = {}
        self._covered: dict[tuple[Node, Node], bool] = {}

    def node(self, value: Json) -> Node:
        """The one node of a value."""
        text = encode(value)
        node = self._nodes.get(text)
        if node is None:
            node = self._nodes[text] = Node()
            if isinstance(value, dict):
                node.members = {key: self.node(item) for key, item in value.items()}
                name = value.get("name")
                node.name = name if isinstance(name, str) else None
            elif isinstance(value, list):
                node.elements = [self.node(item) for item in value]
        return node

    def score(self, one: Node, other: Node, levels: int = _LEVELS) -> float:
        """From 0 (nothing in common) to 1 (equal).

        Objects of different names score 0: two routes with different names are two routes, even if they are alike.
        """
        if one is other:
            return 1.0
        if levels == 0:
            return 0.0
        asked = (one, other, levels)
        score = self._scores.get(asked)
        if score is None:
            score = self._scores[asked] = self._score_of_parts(one, other, levels - 1)
        return score

    def _score_of_parts(self, one: Node, other: Node, levels: int) -> float:
        if one.members is not None and other.members is not None:
            if one.name is not None and other.name is not None and one.name != other.name:
                return 0.0
            theirs = other.members
            # Never both empty, here and below: equal values are one node, and `score` has answered for it.
            both = [key for key in one.members if key in theirs]
            total = len(one.members) + len(theirs) - len(both)
            return sum(self.score(one.members[key], theirs[key], levels) for key in both) / total
        if one.elements is not None and other.elements is not None:
            longer = max(len(one.elements), len(other.elements))
            pairs = zip(one.elements, other.elements, strict=False)
            return sum(self.score(a, b, levels) for a, b in pairs) / longer
        return 0.0

    def covers(self, live: Node, wanted: Node) -> bool:
        """As `tree.covers`: `live` has all that `wanted` has; its objects may have more fields."""
        if live is wanted:
            return True
        asked = (live, wanted)
        covered = self._covered.get(asked)
        if covered is None:
            covered = self._covered[asked] = self._parts_cover(live, wanted)
        return covered

    def _parts_cover(self, live: Node, wanted: Node) -> bool:
        if live.members is not None and wanted.members is not None:
            have = live.members
            return all(
                key in have and self.covers(have[key], item) for key, item in wanted.members.items()
            )
        if live.elements is not None and wanted.elements is not None:
            if len(live.elements) != len(wanted.elements):
                return False
            pairs = zip(live.elements, wanted.elements, strict=True)
            return all(self.covers(have, want) for have, want in pairs)
        return False
