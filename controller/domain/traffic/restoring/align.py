"""Pairs the elements of two lists that have no keys: which element of one is which element of the other.

A script inserts rules and changes others in place, and people and tools do the same meanwhile. Elements are paired in
order: first equal ones, then pairs in which the later element contains all fields of the earlier one, then, between
these, the most similar ones. Elements with different `name`s are never paired.
Invariant: pairs are strictly increasing on both sides, and the same lists always give the same pairs.
Must not guess over a gap that is too large, or too much work: `exact` is False then, and the caller reports it as
ambiguous.
"""

from collections.abc import Callable

import msgspec

from controller.domain.traffic.restoring.likeness import Likeness, Node
from controller.domain.traffic.tree import Json

Pair = tuple[int, int]

MAX_CELLS = 2500
"""Largest table of comparisons in one gap; beyond it elements are paired by position."""


class Alignment(msgspec.Struct, frozen=True):
    """Pairs of indexes; `exact` is False if a gap was too large to compare."""

    pairs: tuple[Pair, ...]
    exact: bool = True


def _trimmed(
    first: list[Node], second: list[Node], equal: Callable[[Node, Node], bool]
) -> tuple[int, int]:
    """Lengths of the common beginning and, behind it, of the common end."""
    shorter = min(len(first), len(second))
    head = 0
    while head < shorter and equal(first[head], second[head]):
        head += 1
    tail = 0
    while tail < shorter - head and equal(first[-1 - tail], second[-1 - tail]):
        tail += 1
    return head, tail


def _around(inner: list[Pair], head: int, tail: int, rows: int, columns: int) -> list[Pair]:
    """Pairs of the common beginning, of the part between, and of the common end."""
    return [
        *((i, i) for i in range(head)),
        *((i + head, j + head) for i, j in inner),
        *((rows - k, columns - k) for k in range(tail, 0, -1)),
    ]


def _heaviest(scores: list[list[float]], rows: int, columns: int) -> list[Pair]:
    """The order-preserving pairing of the greatest total score; the earliest of equals."""
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            paired = best[i + 1][j + 1] + scores[i][j] if scores[i][j] > 0 else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs: list[Pair] = []
    i = j = 0
    while i < rows and j < columns:
        if scores[i][j] > 0 and best[i][j] == best[i + 1][j + 1] + scores[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _pair_gap(first: list[Node], second: list[Node], likeness: Likeness) -> list[Pair] | None:
    """Pairs of the elements left between equal ones; None when there are too many to compare."""
    head, tail = _trimmed(first, second, lambda a, b: likeness.covers(b, a))
    rows, columns = first[head : len(first) - tail], second[head : len(second) - tail]
    if len(rows) * len(columns) > MAX_CELLS or not likeness.has_room(rows, columns):
        return None
    # One equal pair outweighs any number of similar ones, so that unchanged elements are paired first.
    weight = float(len(rows) + len(columns) + 1)

    def score(a: Node, b: Node) -> float:
        alike = likeness.score(a, b)
        if alike == 1.0:
            return weight * weight
        return weight if alike > 0 and likeness.covers(b, a) else alike

    scores = [[score(a, b) for b in columns] for a in rows]
    inner = _heaviest(scores, len(rows), len(columns))
    return _around(inner, head, tail, len(first), len(second))


def align(first: list[Json], second: list[Json], likeness: Likeness) -> Alignment:
    """Pairs of `first` with `second`, the later list."""
    ours = [likeness.node(item) for item in first]
    theirs = [likeness.node(item) for item in second]
    head, tail = _trimmed(ours, theirs, lambda a, b: a is b)
    rows, columns = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    inner = _pair_gap(rows, columns, likeness)
    exact = inner is not None
    if inner is None:
        inner = [(i, i) for i in range(min(len(rows), len(columns)))]
    return Alignment(tuple(_around(inner, head, tail, len(first), len(second))), exact=exact)


def gaps(pairs: tuple[Pair, ...], rows: int, columns: int) -> list[tuple[list[int], list[int]]]:
    """Unpaired indexes of both sides, one entry for each stretch between pairs."""
    found: list[tuple[list[int], list[int]]] = []
    i = j = 0
    for row, column in (*pairs, (rows, columns)):
        found.append((list(range(i, row)), list(range(j, column))))
        i, j = row + 1, column + 1
    return found
