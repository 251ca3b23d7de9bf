"""Joins frequent notes about one object into fewer Events, so that a fast release does not cost two for each step.

Invariants: the first note of a reason is written at once, and so is every warning; no note is held longer than
`HOLD_SECONDS`; the text of every note is a part of some Event. It must do no I/O and know no clock.
"""

from collections import OrderedDict
from heapq import heappop, heappush

import msgspec

from controller.kube.event_notes import Note

HOLD_SECONDS = 10.0
"""After an Event, others of the same reason about the same object wait this long, to be combined."""
TICK_SECONDS = 0.001
"""A timer of a loop may ring this much too early."""
NOTE_BYTES = 1024
"""The longest text that the API server takes."""
OBJECTS = 4096
"""The number of objects whose last Event is remembered."""

_Subject = tuple[str, str, str]


class _Group(msgspec.Struct):
    """The notes about one object and reason that are held, and the instant of the last Event about them."""

    last_at: float
    held: list[Note] = []

    @property
    def over_at(self) -> float:
        """When the notes that are held are written."""
        return self.last_at + HOLD_SECONDS


class Gathering:
    """Events about the same object for the same reason within a short time."""

    def __init__(self, reasons: frozenset[str]) -> None:
        self._reasons = reasons
        self._groups: OrderedDict[_Subject, _Group] = OrderedDict()
        self._due: list[tuple[float, _Subject]] = []
        """A heap of the times at which groups with held notes end. The entry of a group that ended earlier is ignored.
        """

    def take(self, note: Note, now: float) -> tuple[Note, ...]:
        """The notes to write now; others are held. `now` is monotonic, in seconds."""
        if note.type == "Warning" or note.reason not in self._reasons:
            return (note,)
        self._forget_quiet(now)
        key = (note.metadata.uid, note.reason, note.action)
        group = self._groups.get(key)
        if group is None:
            self._groups[key] = _Group(now)
            return (note, *self._shortened())
        if not group.held and _is_over(group, now):
            group.last_at = now
            self._groups.move_to_end(key)
            return (note,)
        if any(note.message == held.message for held in group.held):
            return ()
        full = len(_text([*group.held, note]).encode()) > NOTE_BYTES
        out = self._flush(key, group, now) if full else ()
        if not group.held:
            heappush(self._due, (group.over_at, key))
        group.held.append(note)
        return out

    def due(self, now: float) -> tuple[Note, ...]:
        """The notes that were held long enough."""
        out: list[Note] = []
        while (first := self._first()) is not None and _is_over(first[1], now):
            out += self._flush(*first, now)
        return tuple(out)

    def everything(self, now: float) -> tuple[Note, ...]:
        """All held notes, due or not: the process ends."""
        return tuple(
            n
            for subject, group in [*self._groups.items()]
            for n in self._flush(subject, group, now)
        )

    def wait(self, now: float) -> float | None:
        """Seconds until something is due; None while nothing is held."""
        first = self._first()
        return None if first is None else max(0.0, first[1].over_at - now)

    def _first(self) -> tuple[_Subject, _Group] | None:
        """The group with held notes that ends first; only few entries are read, also with many objects."""
        while self._due:
            over_at, key = self._due[0]
            group = self._groups.get(key)
            if group is not None and group.held and group.over_at == over_at:
                return key, group
            heappop(self._due)
        return None

    def _shortened(self) -> tuple[Note, ...]:
        """Forget the object whose last Event is the oldest; its held Events are recorded now."""
        if len(self._groups) <= OBJECTS:
            return ()
        _, oldest = self._groups.popitem(last=False)
        return _together(oldest.held)

    def _forget_quiet(self, now: float) -> None:
        """Forget objects, the oldest first, whose last Event is so old that their next note is written at once in any
        case.
        """
        while self._groups:
            oldest = next(iter(self._groups.values()))
            if oldest.held or not _is_over(oldest, now):
                return
            self._groups.popitem(last=False)

    def _flush(self, subject: _Subject, group: _Group, now: float) -> tuple[Note, ...]:
        if not group.held:
            return ()
        out = _together(group.held)
        group.held, group.last_at = [], now
        self._groups.move_to_end(subject)
        return out


def _together(held: list[Note]) -> tuple[Note, ...]:
    return (msgspec.structs.replace(held[0], message=_text(held)),) if held else ()


def _is_over(group: _Group, now: float) -> bool:
    return now >= group.over_at - TICK_SECONDS


def _text(notes: list[Note]) -> str:
    return "; ".join(note.message for note in notes)
