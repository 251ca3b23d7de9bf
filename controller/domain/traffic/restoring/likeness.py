"""Measures how similar two JSON values are; many comparisons share the same parts.

Aligning two lists compares every element with every other, and elements of one object share most of their parts. Equal
parts therefore become one node, and a comparison is remembered: a list of fifty rules costs milliseconds. Everybody who
may write the object decides what is compared, so one `Likeness` compares `MOST_COMPARISONS` parts at most.
Invariant: two values are equal exactly when they have the same node, and each value is walked through once.
Must not be kept after one restoring: nodes keep everything they have seen in memory.
"""

from collections.abc import Collection

from controller.domain.traffic.tree import Json

_LEVELS = 4
"""How deep unequal values are compared."""
MOST_COMPARISONS = 250_000
"""Parts that are compared in all lists of one object; fifty rules of fifty parts each with as many others."""


class Node:
    """A value with its parts as nodes; equal values of one `Likeness` have one node."""

    __slots__ = ("elements", "members", "name", "parts")

    def __init__(self) -> None:
        self.members: dict[str, Node] | None = None
        self.elements: list[Node] | None = None
        self.name: str | None = None
        self.parts = 1
        """Values in it, itself included."""


class Likeness:
    """Compares values; remembers every answer."""

    def __init__(self) -> None:
        self._nodes: dict[object, Node] = {}
        self._seen: dict[int, tuple[Json, Node]] = {}
        """By identity; the value is kept, so that its identity stays its own."""
        self._room = MOST_COMPARISONS
        self._scores: dict[tuple[Node, Node, int], float] = {}
        self._covered: dict[tuple[Node, Node], bool] = {}

    def node(self, value: Json) -> Node:
        """The one node of a value."""
        if not isinstance(value, (dict, list)):
            # Unlike in Python, true is not 1.
            node = self._nodes.get((type(value), value))
            if node is None:
                node = self._nodes[(type(value), value)] = Node()
            return node
        seen = self._seen.get(id(value))
        if seen is None:
            node = self._of_object(value) if isinstance(value, dict) else self._of_list(value)
            seen = self._seen[id(value)] = (value, node)
        return seen[1]

    def same(self, one: Json, other: Json) -> bool:
        """As `tree.same`: equal as JSON."""
        return self.node(one) is self.node(other)

    def contains(self, live: Json, wanted: Json) -> bool:
        """As `tree.covers`: `live` has all that `wanted` has."""
        return self.covers(self.node(live), self.node(wanted))

    def _of_object(self, value: dict[str, Json]) -> Node:
        members = {key: self.node(item) for key, item in value.items()}
        known = (dict, frozenset(members.items()))
        if (node := self._nodes.get(known)) is None:
            node = self._nodes[known] = Node()
            node.members = members
            node.parts += sum(part.parts for part in members.values())
            name = value.get("name")
            node.name = name if isinstance(name, str) else None
        return node

    def _of_list(self, value: list[Json]) -> Node:
        elements = [self.node(item) for item in value]
        known = (list, tuple(elements))
        if (node := self._nodes.get(known)) is None:
            node = self._nodes[known] = Node()
            node.elements = elements
            node.parts += sum(part.parts for part in elements)
        return node

    def has_room(self, ones: Collection[Node], others: Collection[Node]) -> bool:
        """Whether each of these may be compared with each of the others; takes the room for it."""
        parts = sum(one.parts for one in ones) * len(others)
        parts += sum(other.parts for other in others) * len(ones)
        if parts > self._room:
            return False
        self._room -= parts
        return True

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
