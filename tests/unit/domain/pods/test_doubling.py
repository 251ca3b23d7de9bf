"""The pods that are named to a CloneSet's controller, so that it keeps all old pods beside the new ones."""

from controller.api.workloads import Pod
from controller.domain.pods.doubling import Doubling, Present, beyond, doubled
from tests.unit.builders import NOW, make_pod


def pods(kind: str, count: int, *, ready: bool = True) -> tuple[Pod, ...]:
    """Pods of one revision, named by it."""
    since = NOW if ready else None
    return tuple(make_pod(f"{kind}-{at}", revision=kind, ready_since=since) for at in range(count))


def test_old_pods_are_named_while_new_ones_are_missing() -> None:
    plan = doubled(4, 2, Present(pods("old", 4), ()))
    assert plan == Doubling("50%", 2, ("old-0", "old-1"))


def test_new_pods_are_named_once_the_status_counts_them_as_ready() -> None:
    new = pods("new", 2)
    unknown = Present(pods("old", 4), new, named=("old-0", "old-1"), known_ready=1)
    assert doubled(4, 2, unknown).named == ("old-0", "old-1")
    known = Present(pods("old", 4), new, named=("old-0", "old-1"), known_ready=2)
    assert doubled(4, 2, known) == Doubling("100%", 2, ("new-0", "new-1"))


def test_a_new_pod_that_was_named_stays_named_while_others_become_ready() -> None:
    present = Present(pods("old", 4), pods("new", 3), named=("new-0", "new-1"), known_ready=2)
    assert doubled(4, 3, present).named == ("new-0", "new-1", "old-0")


def test_a_lost_new_pod_is_made_again_in_the_place_of_an_old_one() -> None:
    present = Present(pods("old", 4), pods("new", 3), known_ready=3)
    assert doubled(4, 4, present) == Doubling("75%", 4, ("new-0", "new-1", "new-2", "old-0"))


def test_new_pods_never_become_fewer_and_names_never_more_than_replicas() -> None:
    present = Present(pods("old", 4), pods("new", 4), known_ready=4)
    assert doubled(4, 1, present).surge == 4
    scaled_in = doubled(2, 2, present)
    assert scaled_in.surge == len(scaled_in.named) == 2


def test_a_pod_that_is_not_ready_or_young_is_named_last() -> None:
    old = (*pods("unready", 1, ready=False), *pods("old", 1))
    assert doubled(2, 1, Present(old, ())).named == ("old-0",)


def test_without_old_pods_nothing_is_doubled() -> None:
    assert doubled(4, 2, Present((), pods("new", 4), known_ready=4)) == Doubling("100%", 1, ())


def test_pods_beyond_the_replicas_are_the_unready_ones_first() -> None:
    one, two = pods("ready", 2)
    (unready,) = pods("unready", 1, ready=False)
    leaving = make_pod("leaving", deleting=True, ready_since=NOW)
    assert beyond(2, (unready, two, leaving, one)) == [unready]
    assert beyond(1, (unready, two, one)) == [two, unready]
