"""An event is sent once, not the past, within a rate, and later again if the target does not take it."""

from datetime import UTC, datetime, timedelta

import pytest

from controller.api.meta import ObjectMeta
from controller.api.notification import (
    TOLD_KEPT,
    WAITING_KEPT,
    LabelSelector,
    Notification,
    NotificationSpec,
    NotificationStatus,
    Occasion,
    Told,
    Topic,
    Waiting,
)
from controller.domain.notifications.event import event_of
from controller.domain.notifications.telling import again, is_about, news, plan, remembered

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def make_occasion(name: str = "a", age: float = 5, topic: Topic = Topic.FINISHED) -> Occasion:
    """An event of this age in seconds."""
    return Occasion(
        id=name,
        topic=topic,
        reason="ReleaseCompleted",
        message="done",
        at=NOW - age * SECOND,
        namespace="shop",
        rollout="web",
        uid="u",
        release="r",
    )


def make_notification(
    status: NotificationStatus | None = None,
    *,
    created: datetime | None = None,
    namespace: str = "shop",
    **spec: object,
) -> Notification:
    """A Notification that has long existed."""
    return Notification(
        ObjectMeta(name="chat", namespace=namespace, creation_timestamp=created),
        NotificationSpec(script="slack", **spec),  # type: ignore[arg-type]  # fields by name
        status or NotificationStatus(),
    )


def waiting(*occasions: Occasion) -> tuple[Waiting, ...]:
    """Events that nobody tried to send yet."""
    return tuple(Waiting(one) for one in occasions)


# --- whom it is about -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("notification", "expected"),
    [
        (make_notification(), True),
        (make_notification(namespace="bank"), False),
        (make_notification(namespace=""), True),
        (make_notification(namespace="", namespaces=("shop", "bank")), True),
        (make_notification(namespace="", namespaces=("bank",)), False),
        (make_notification(selector=LabelSelector({"team": "web"})), True),
        (make_notification(selector=LabelSelector({"team": "pay"})), False),
    ],
)
def test_a_notification_is_about_rollouts_of_its_places_and_labels(
    notification: Notification, expected: bool
) -> None:
    rollout = ObjectMeta(name="web", namespace="shop", labels={"team": "web", "tier": "a"})
    assert is_about(notification, rollout) is expected


# --- what is news ---------------------------------------------------------------------------------


def test_what_was_told_or_waits_is_no_news() -> None:
    status = NotificationStatus(
        told=(Told("a", NOW),), waiting=(Waiting(make_occasion("b"), tries=1),)
    )
    seen = [make_occasion(name) for name in ("a", "b", "c")]
    assert [one.id for one in news(make_notification(status), seen, NOW)] == ["c"]


def test_the_start_of_a_release_is_told_only_if_it_is_asked_for() -> None:
    started = [make_occasion(topic=Topic.STARTED)]
    assert news(make_notification(), started, NOW) == ()
    asked = make_notification(events=(Topic.STARTED,))
    assert news(asked, started, NOW) == tuple(started)


@pytest.mark.parametrize(("age", "told"), [(3600, True), (3601, False)])
def test_an_event_that_is_older_than_an_hour_is_of_the_past(age: float, told: bool) -> None:
    assert bool(news(make_notification(), [make_occasion(age=age)], NOW)) is told


@pytest.mark.parametrize(("age", "told"), [(60, True), (61, False)])
def test_a_new_notification_does_not_shout_the_past(age: float, told: bool) -> None:
    notification = make_notification(created=NOW - 60 * SECOND)
    assert bool(news(notification, [make_occasion(age=age)], NOW)) is told


# --- when it is sent ------------------------------------------------------------------------------


def test_all_that_waits_is_sent_in_the_order_in_which_it_happened() -> None:
    found = plan(make_notification(), waiting(make_occasion("b", 1), make_occasion("a", 9)), NOW)
    assert [one.occasion.id for one in found.now] == ["a", "b"]
    assert (found.given_up, found.later) == ((), None)


def test_a_minute_has_room_for_so_many_and_the_others_wait() -> None:
    told = tuple(Told(f"t{age}", NOW - age * SECOND) for age in (90, 40, 20))
    notification = make_notification(NotificationStatus(told=(*told, Told("old"))), per_minute=3)
    found = plan(notification, waiting(make_occasion("a", 9), make_occasion("b", 1)), NOW)
    assert [one.occasion.id for one in found.now] == ["a"]
    assert found.later == NOW + 20 * SECOND


def test_a_burst_begins_with_as_many_as_a_minute_has_room_for() -> None:
    many = waiting(*(make_occasion(f"{n:02}") for n in range(5)))
    found = plan(make_notification(per_minute=2), many, NOW)
    assert [one.occasion.id for one in found.now] == ["00", "01"]
    assert found.later == NOW + timedelta(minutes=1)


def test_an_event_that_was_refused_waits_for_its_time() -> None:
    refused = again(Waiting(make_occasion()), NOW, None)
    assert plan(make_notification(), [refused], NOW).now == ()
    assert plan(make_notification(), [refused], NOW).later == NOW + 10 * SECOND
    assert plan(make_notification(), [refused], NOW + 10 * SECOND).now == (refused,)


def test_waits_double_up_to_a_quarter_of_an_hour() -> None:
    one, waits = Waiting(make_occasion()), []
    for _ in range(9):
        one = again(one, NOW, None)
        assert one.due is not None
        waits.append((one.due - NOW).total_seconds())
    assert waits == [10, 20, 40, 80, 160, 320, 640, 900, 900]


def test_a_target_may_name_the_time() -> None:
    assert again(Waiting(make_occasion()), NOW, 3).due == NOW + 3 * SECOND


@pytest.mark.parametrize(("hours", "given_up"), [(24, False), (24.1, True)])
def test_after_a_day_an_event_is_given_up(hours: float, given_up: bool) -> None:
    one = make_occasion(age=hours * 3600)
    found = plan(make_notification(), waiting(one), NOW)
    assert found.given_up == ((one,) if given_up else ())
    assert len(found.now) == (0 if given_up else 1)


# --- what is remembered ---------------------------------------------------------------------------


def test_what_was_told_and_given_up_is_remembered_and_the_oldest_goes() -> None:
    before = NotificationStatus(told=tuple(Told(str(n)) for n in range(TOLD_KEPT)))
    added = (Told("new", NOW), Told("lost", NOW, given_up=True))
    status = remembered(before, added, ())
    assert status.told[-2:] == added
    assert len(status.told) == TOLD_KEPT
    assert status.last_told == NOW


def test_giving_up_is_no_telling() -> None:
    lost = Told("lost", NOW, given_up=True)
    assert remembered(NotificationStatus(), [lost], ()).last_told is None


def test_only_events_that_were_refused_are_kept_and_a_bounded_number_of_them() -> None:
    refused = [again(Waiting(make_occasion(f"{n:02}", 90 - n)), NOW, None) for n in range(30)]
    kept = remembered(
        NotificationStatus(),
        [Told(refused[29].occasion.id, NOW)],
        [*refused, *waiting(make_occasion("fresh"))],
    ).waiting
    assert [one.occasion.id for one in kept] == [f"{n:02}" for n in range(9, 29)]
    assert len(kept) == WAITING_KEPT


# --- as scripts get it ----------------------------------------------------------------------------


def test_a_field_without_a_value_is_absent() -> None:
    assert event_of(make_occasion()) == {
        "kind": "Rollout",
        "uid": "u",
        "namespace": "shop",
        "rollout": "web",
        "release": "r",
        "reason": "ReleaseCompleted",
        "message": "done",
        "time": int(NOW.timestamp()) - 5,
    }


def test_a_link_names_the_rollout() -> None:
    link = "https://x.example/{{ namespace }}/{{ rollout }}"
    assert event_of(make_occasion(), link)["link"] == "https://x.example/shop/web"
