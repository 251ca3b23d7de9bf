"""The number of returned pods at each step of a rollback in batches, and their labels."""

import pytest

from controller.api.names import NO_NEED_UPDATE, ROLLOUT_ID
from controller.api.quantity import IntOrPercent
from controller.api.workloads import Pod
from controller.domain.pods.partition import counted_partition, ordered_partition
from controller.domain.pods.plan import batch_size
from controller.domain.pods.rollback_batches import back_at, stayed, to_label
from tests.unit.builders import make_pod, make_steps


@pytest.mark.parametrize(
    ("replicas", "stay", "batch", "planned", "back", "clones", "ordered"),
    [
        (20, 10, "20%", 4, 12, "40%", 18),
        (10, 4, "20%", 2, 6, "40%", 8),
        (10, 0, "20%", 2, 2, "80%", 8),
        (10, 4, "100%", 10, 10, "0%", 0),
        (10, 4, 3, 3, 7, "30%", 7),
        (10, 8, 5, 5, 10, "0%", 0),
        (5, 5, "20%", 1, 5, "0%", 0),
    ],
)
def test_pods_that_never_left_are_no_part_of_a_step(
    replicas: int,
    stay: int,
    batch: IntOrPercent,
    planned: int,
    back: int,
    clones: IntOrPercent,
    ordered: int,
) -> None:
    steps = make_steps(batch)
    assert batch_size(steps, 1, replicas) == planned
    assert back_at(steps, 1, replicas, stay) == back
    assert counted_partition(replicas, back, percent=True) == clones
    assert ordered_partition(replicas, back, frozenset(range(stay))) == ordered


def test_a_set_that_was_scaled_below_the_pods_that_stayed_wants_all_its_pods() -> None:
    assert back_at(make_steps("20%"), 1, 3, 4) == 4


def marked(name: str, **labels: str) -> Pod:
    return make_pod(name, labels={NO_NEED_UPDATE: "r", **labels})


def names_of(pods: tuple[Pod, ...]) -> list[str]:
    return [pod.metadata.name for pod in pods]


def test_pods_with_the_mark_of_this_release_count_as_kept() -> None:
    assert names_of(stayed([marked("a"), make_pod("b")], "r")) == ["a"]
    assert stayed([marked("a")], "another") == ()


def test_labels_go_to_pods_that_came_back_first_and_then_to_pods_that_stayed() -> None:
    there = [make_pod("back-1"), make_pod("back-2"), *(marked(f"stay-{at}") for at in range(10))]
    chosen = to_label(there, "r", planned=4, wanted=12)
    assert names_of(chosen) == ["back-1", "back-2", "stay-0", "stay-1"]


def test_room_is_kept_for_pods_that_have_not_come_back_yet() -> None:
    there = [make_pod("back-1"), *(marked(f"stay-{at}") for at in range(10))]
    assert names_of(to_label(there, "r", planned=4, wanted=12)) == ["back-1", "stay-0", "stay-1"]


def test_pods_that_were_labelled_in_an_earlier_step_stay_so() -> None:
    labelled = [marked(f"stay-{at}", **{ROLLOUT_ID: "r"}) for at in range(2)]
    waiting = [marked(f"wait-{at}") for at in range(8)]
    back = [make_pod(f"back-{at}") for at in range(4)]
    chosen = to_label([*back, *labelled, *waiting], "r", planned=8, wanted=14)
    assert len(chosen) == 8
    assert names_of(chosen)[-2:] == ["wait-0", "wait-1"]


def test_a_step_of_few_labels_gives_them_only_to_pods_that_came_back() -> None:
    there = [make_pod("back-1"), make_pod("back-2"), marked("stay")]
    assert names_of(to_label(there, "r", planned=1, wanted=3)) == ["back-1", "back-2"]
