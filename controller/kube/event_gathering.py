"""Joins frequent notes about one object into fewer Events, so that a fast release does not cost two for each step.

Invariants: the first note of a reason is written at once, and so is every warning; no note is held longer than
`HOLD_SECONDS`; the text of every note is a part of some Event. Notes that are held together become one Event, in the
order in which they came, with the reason of the first one. It must do no I/O and know no clock.
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

_Subject = tuple[str, str]


class _Group(msgspec.Struct):
    """The notes about one object that are held, and the instant of the last Event of each reason."""

    last_at: dict[str, float] = {}
    held: list[Note] = []

    @property
    def due_at(self) -> float:
        """When the notes that are held are written: the first of them that was held long enough takes all with it."""
        return min(self.last_at[note.reason] for note in self.held) + HOLD_SECONDS

    @property
    def quiet_at(self) -> float:
        """When the next note of each reason is written at once."""
        return max(self.last_at.values()) + HOLD_SECONDS

    def must_hold(self, reason: str, now: float) -> bool:
        """Whether a note of this reason came a short time ago, or is held."""
        is_held = any(note.reason == reason for note in self.held)
        last_at = self.last_at.get(reason)
        return is_held or (last_at is not None and not _has_come(last_at + HOLD_SECONDS, now))


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
        key = (note.metadata.uid, note.action)
        group = self._groups.setdefault(key, _Group())
        if not group.must_hold(note.reason, now):
            group.last_at[note.reason] = now
            self._groups.move_to_end(key)
            return (note, *self._shortened())
        if any(note.message == held.message for held in group.held):
            return ()
        full = len(_text([*group.held, note]).encode()) > NOTE_BYTES
        out = self._flush(key, group, now) if full else ()
        group.held.append(note)
        heappush(self._due, (group.due_at, key))
        return out

    def due(self, now: float) -> tuple[Note, ...]:
        """The notes that were held long enough."""
        out: list[Note] = []
        while (first := self._first()) is not None and _has_come(first[1].due_at, now):
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
        return None if first is None else max(0.0, first[1].due_at - now)

    def _first(self) -> tuple[_Subject, _Group] | None:
        """The group with held notes that ends first; only few entries are read, also with many objects."""
        while self._due:
            due_at, key = self._due[0]
            group = self._groups.get(key)
            if group is not None and group.held and group.due_at == due_at:
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
            if oldest.held or not _has_come(oldest.quiet_at, now):
                return
            self._groups.popitem(last=False)

    def _flush(self, subject: _Subject, group: _Group, now: float) -> tuple[Note, ...]:
        if not group.held:
            return ()
        out = _together(group.held)
        group.last_at.update((note.reason, now) for note in group.held)
        group.held = []
        self._groups.move_to_end(subject)
        return out


def _together(held: list[Note]) -> tuple[Note, ...]:
    return (msgspec.structs.replace(held[0], message=_text(held)),) if held else ()


def _has_come(instant: float, now: float) -> bool:
    return now >= instant - TICK_SECONDS


def _text(notes: list[Note]) -> str:
    return "; ".join(note.message for note in notes)
