"""Namespaces are divided among shards: each has one, one shard more moves few, and all get about as many."""

from hypothesis import given
from hypothesis import strategies as st

from controller.domain.shards import MOST, common_holder, shard_of, shards_counted

NAMESPACES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=63)
MANY = [f"team-{number}" for number in range(4000)]


@given(NAMESPACES, st.integers(1, MOST))
def test_every_namespace_has_one_shard_of_those_there_are(namespace: str, shards: int) -> None:
    assert shard_of(namespace, shards) in range(shards)


@given(NAMESPACES, st.integers(1, MOST - 1))
def test_one_shard_more_moves_a_namespace_to_the_new_shard_or_not_at_all(
    namespace: str, shards: int
) -> None:
    assert shard_of(namespace, shards + 1) in (shard_of(namespace, shards), shards)


def test_namespaces_have_the_shards_that_were_written_down() -> None:
    """Another answer in another version of Python would make two writers of a rolling update."""
    assert [shard_of(name, 5) for name in ("default", "shops", "kruise-rollout")] == WRITTEN_DOWN


def test_shards_have_about_as_many_namespaces_and_the_newest_takes_its_share() -> None:
    for shards in range(2, MOST + 1):
        fair = len(MANY) / shards
        sizes = [0] * shards
        for name in MANY:
            sizes[shard_of(name, shards)] += 1
        assert 0.75 * fair < min(sizes)
        assert max(sizes) < 1.25 * fair


WRITTEN_DOWN = [2, 0, 1]


@given(st.integers(1, MOST))
def test_the_holder_of_the_common_lease_says_how_many_shards_there_are(shards: int) -> None:
    assert shards_counted(common_holder(shards)) == shards


def test_a_process_that_leads_alone_counts_one_shard() -> None:
    names = ("moonshift-controller-7d9f_1", "shards-", "shards-0", "shards-99", "")
    assert [shards_counted(name) for name in names] == [1] * len(names)
