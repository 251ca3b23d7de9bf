"""Events may be held for a limited time, and no text is lost."""

from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any, Literal

from controller.api.meta import ObjectMeta
from controller.kube.event_gathering import HOLD_SECONDS, NOTE_BYTES, OBJECTS, Gathering
from controller.kube.event_notes import Note
from controller.kube.resources import ROLLOUTS

AT = datetime(2026, 1, 1, tzinfo=UTC)
STEP = "Progressing"
ROUTED = "TrafficRouted"


def make_note(
    message: str,
    *,
    uid: str = "u1",
    reason: str = STEP,
    type: Literal["Normal", "Warning"] = "Normal",
) -> Note:
    meta = ObjectMeta(name="web", namespace="shop", uid=uid)
    return Note(ROLLOUTS, meta, type, reason, message, "Reconcile", AT)


def gathering() -> Gathering:
    return Gathering(frozenset({STEP, ROUTED}))


def texts(notes: tuple[Note, ...]) -> list[str]:
    return [note.message for note in notes]


def test_the_first_is_not_held_and_the_next_waits_its_time() -> None:
    events = gathering()
    assert texts(events.take(make_note("one"), 0.0)) == ["one"]
    assert events.take(make_note("two"), 1.0) == ()
    assert events.wait(1.0) == HOLD_SECONDS - 1
    assert events.due(HOLD_SECONDS - 1) == ()
    assert texts(events.due(HOLD_SECONDS)) == ["two"]
    assert events.wait(HOLD_SECONDS) is None


def test_the_first_of_each_reason_is_not_held_and_the_next_ones_share_one_event() -> None:
    events = gathering()
    assert texts(events.take(make_note("pods 1"), 0.0)) == ["pods 1"]
    assert texts(events.take(make_note("share 1", reason=ROUTED), 1.0)) == ["share 1"]
    assert events.take(make_note("pods 2"), 2.0) == ()
    assert events.take(make_note("share 2", reason=ROUTED), 3.0) == ()
    assert events.take(make_note("pods 3"), 4.0) == ()
    assert events.take(make_note("share 3", reason=ROUTED), 5.0) == ()
    (joined,) = events.due(HOLD_SECONDS)
    assert (joined.reason, joined.message) == (STEP, "pods 2; share 2; pods 3; share 3")
    assert events.wait(HOLD_SECONDS) is None


def test_the_first_of_a_reason_is_not_held_beside_notes_of_another() -> None:
    events = gathering()
    events.take(make_note("pods 1"), 0.0)
    events.take(make_note("pods 2"), 1.0)
    assert texts(events.take(make_note("share 2", reason=ROUTED), 2.0)) == ["share 2"]
    assert texts(events.due(HOLD_SECONDS)) == ["pods 2"]


def test_the_note_that_waits_longest_says_when_all_are_written() -> None:
    events = gathering()
    events.take(make_note("share 1", reason=ROUTED), 0.0)
    events.take(make_note("pods 1"), 5.0)
    events.take(make_note("pods 2"), 6.0)
    assert events.wait(6.0) == HOLD_SECONDS - 1
    events.take(make_note("share 2", reason=ROUTED), 7.0)
    assert events.wait(7.0) == HOLD_SECONDS - 7
    assert texts(events.due(HOLD_SECONDS)) == ["pods 2; share 2"]


def test_after_a_quiet_time_nothing_is_held() -> None:
    events = gathering()
    events.take(make_note("one"), 0.0)
    assert texts(events.take(make_note("two"), HOLD_SECONDS)) == ["two"]


def test_warnings_other_reasons_and_other_objects_are_not_held() -> None:
    events = gathering()
    events.take(make_note("one"), 0.0)
    for other in (
        make_note("warned", type="Warning"),
        make_note("approved", reason="Approved"),
        make_note("elsewhere", uid="u2"),
    ):
        assert events.take(other, 1.0) == (other,)


def test_a_text_that_is_held_already_is_not_repeated() -> None:
    events = gathering()
    for text in ("one", "two", "two"):
        events.take(make_note(text), 0.0)
    assert texts(events.everything(1.0)) == ["two"]


def test_no_text_is_cut_to_make_room_for_another() -> None:
    events, found = gathering(), [str(number) * (NOTE_BYTES // 3) for number in range(9)]
    out = [note for text in found for note in events.take(make_note(text), 0.0)]
    out += events.everything(0.0)
    assert all(len(note.message.encode()) <= NOTE_BYTES for note in out)
    assert "; ".join(texts(tuple(out))) == "; ".join(found)


def test_memory_is_bounded_and_forgotten_objects_are_reported() -> None:
    events = gathering()
    events.take(make_note("one", uid="oldest"), 0.0)
    events.take(make_note("two", uid="oldest"), 0.0)
    out = [
        text
        for number in range(OBJECTS)
        for text in texts(events.take(make_note("other", uid=f"n{number}"), 0.0))
    ]
    assert out.count("two") == 1
    assert events.everything(0.0) == ()


class Counting(OrderedDict[tuple[str, str], Any]):
    """Groups, and how many of them were looked at."""

    looked_at = 0

    def get(self, *arguments: Any) -> Any:
        self.looked_at += 1
        return super().get(*arguments)

    def values(self) -> Any:
        self.looked_at += len(self)
        return super().values()


def test_due_events_are_found_without_a_search_of_idle_objects() -> None:
    events = gathering()
    events._groups = counting = Counting()
    for number in range(OBJECTS):
        events.take(make_note("one", uid=f"u{number}"), 0.0)
    events.take(make_note("two", uid="u7"), 1.0)
    counting.looked_at = 0
    assert events.wait(1.0) == HOLD_SECONDS - 1
    assert texts(events.due(HOLD_SECONDS)) == ["two"]
    assert events.wait(HOLD_SECONDS) is None
    assert counting.looked_at < 10


def test_a_full_event_that_was_written_early_is_not_due_at_the_old_instant() -> None:
    events = gathering()
    events.take(make_note("one"), 0.0)
    events.take(make_note("two"), 1.0)
    assert texts(events.take(make_note("x" * NOTE_BYTES), 2.0)) == ["two"]
    assert events.wait(2.0) == HOLD_SECONDS
    assert events.due(HOLD_SECONDS) == ()
    assert texts(events.due(2.0 + HOLD_SECONDS)) == ["x" * NOTE_BYTES]


def test_objects_that_are_quiet_are_forgotten() -> None:
    events = gathering()
    for number in range(100):
        events.take(make_note("one", uid=f"u{number}"), float(number))
    events.take(make_note("two", uid="u99"), 100.0)
    events.due(99.0 + HOLD_SECONDS)
    events.take(make_note("one", uid="other"), 99.0 + HOLD_SECONDS)
    assert {uid for uid, *_ in events._groups} == {"u99", "other"}
