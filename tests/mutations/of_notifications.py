"""Deliberate defects of notifications: which events there are, which are sent, and what is remembered."""

from tests.mutations.changes import assigns, never, removed, returns
from tests.mutations.mutation import Mutation, named

OCCASIONS = "unit/domain/notifications/test_occasions.py"
TELLING = "unit/domain/notifications/test_telling.py"
PASSES = "component/reconcilers/test_notifications.py"

OF_NOTIFICATIONS: tuple[Mutation, ...] = (
    *named(
        "controller.domain.notifications.occasions",
        (
            "the same fact has another id at another step",
            "_Looked._one",
            assigns("instant", "str(ours.step)"),
            f"{OCCASIONS}::test_what_lasts_longer_than_a_step_stays_the_same_event",
        ),
        (
            "a step with a time waits for a person",
            "_Looked._waits_for_a_person",
            returns("True", "duration"),
            f"{OCCASIONS}::test_a_step_with_a_time_waits_for_nobody",
        ),
        (
            "a rollback is sent as a success",
            "_Looked._end",
            assigns("won", "True"),
            f"{OCCASIONS}::test_a_release_that_is_undone_is_rolled_back_and_not_finished",
        ),
    ),
    *named(
        "controller.domain.notifications.telling",
        (
            "what was sent is sent again",
            "news",
            assigns("known", "set()"),
            f"{TELLING}::test_what_was_told_or_waits_is_no_news",
        ),
        (
            "a new Notification shouts the past",
            "news",
            never("created"),
            f"{TELLING}::test_a_new_notification_does_not_shout_the_past",
        ),
        (
            "a minute has room for everything",
            "plan",
            assigns("room", "len(due)"),
            f"{TELLING}::test_a_minute_has_room_for_so_many_and_the_others_wait",
        ),
        (
            "a Notification is about all namespaces",
            "is_about",
            assigns("here", "True"),
            f"{TELLING}::test_a_notification_is_about_rollouts_of_its_places_and_labels",
        ),
    ),
    *named(
        "controller.reconcilers.notifications",
        (
            "another leader forgets what waits",
            "Notifying._look",
            removed("setdefault"),
            f"{PASSES}::test_a_target_that_refuses_is_asked_again_with_the_same_id",
        ),
        (
            "what was sent before a crash is not looked for",
            "Notifying._look",
            never("looked"),
            f"{PASSES}::test_a_process_that_is_killed_at_any_write_or_send_loses_no_event",
        ),
        (
            "statuses are looked at although nobody is sent",
            "Notifying._rollout_changed",
            never("cluster_notifications"),
            f"{PASSES}::test_without_a_notification_no_status_is_looked_at",
        ),
        (
            "a Notification that cannot be told is tried",
            "Notifying._problem",
            returns("''"),
            f"{PASSES}::test_a_notification_that_cannot_be_told_says_why_before_anything_happens",
        ),
    ),
)
