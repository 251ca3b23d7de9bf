"""Which pods of a native DaemonSet may go: the original's table, and corrections of its mistakes."""

from datetime import timedelta

import pytest
from msgspec import structs

from controller.api.workloads import DELETION_COST, Pod, PodStatus
from controller.domain.pods.daemonset import (
    Nodes,
    may_go,
    most_unavailable,
    nodes_of,
)
from tests.unit.builders import NOW, make_pod


def old(*kinds: str) -> list[Pod]:
    """Old pods: ready, unready or terminating."""
    return [
        make_pod(
            f"old-{number}",
            revision="v1",
            ready_since=NOW if kind == "R" else None,
            deleting=kind == "T",
        )
        for number, kind in enumerate(kinds)
    ]


@pytest.mark.parametrize(
    ("need", "unready", "limit", "pods", "count"),
    [
        (5, 0, 3, "", 0),
        (2, 0, 3, "RR", 2),
        (3, 0, 2, "RRR", 2),
        (3, 0, 1, "UUR", 2),
        (4, 0, 2, "URRR", 2),
        (3, 0, 2, "TRR", 1),
        (2, 2, 2, "RR", 0),
        (4, 1, 3, "UTRR", 1),
        (4, 1, 4, "UTRR", 2),
        (2, 0, 5, "UUR", 2),
    ],
)
def test_the_number_of_removable_old_pods_follows_from_the_limit(
    need: int, unready: int, limit: int, pods: str, count: int
) -> None:
    new = [make_pod(f"new-{number}", revision="v2") for number in range(unready)]
    there = old(*pods)
    nodes = nodes_of(len(new) + len(there), [*new, *there], "v2")
    assert len(may_go(nodes, unready + need, limit, "v1")) == count


def test_a_node_without_a_pod_is_on_its_way_to_the_new_revision() -> None:
    there = old("R", "R", "R")
    assert may_go(nodes_of(4, there, "v2"), 1, 2, "v1") == ()
    assert len(may_go(nodes_of(4, there, "v2"), 3, 2, "v1")) == 1


def test_the_least_missed_go_first() -> None:
    ready = make_pod("ready", revision="v1", ready_since=NOW, created=NOW)
    younger = structs.replace(
        ready,
        metadata=structs.replace(
            ready.metadata, name="younger", creation_timestamp=NOW + timedelta(hours=1)
        ),
    )
    cheap = structs.replace(
        ready,
        metadata=structs.replace(ready.metadata, name="cheap", annotations={DELETION_COST: "-5"}),
    )
    odd = structs.replace(
        ready, metadata=structs.replace(ready.metadata, name="odd", annotations={DELETION_COST: ""})
    )
    unready = make_pod("unready", revision="v1")
    pending = structs.replace(make_pod("pending", revision="v1"), status=PodStatus(phase="Pending"))
    abandoned = make_pod("abandoned", revision="v0", ready_since=NOW)
    pods = (ready, younger, cheap, odd, unready, pending, abandoned)
    going = may_go(Nodes(size=7, new=(), old=pods, leaving=0), 7, 7, "v1")
    named = [pod.metadata.name for pod in going]
    assert named == ["abandoned", "pending", "unready", "cheap", "younger", "odd", "ready"]


@pytest.mark.parametrize(
    ("limit", "size", "nodes"),
    [(None, 10, 1), (3, 10, 3), ("25%", 10, 2), ("1%", 10, 1), (0, 10, 1)],
)
def test_at_least_one_node_may_be_without_a_pod(
    limit: int | str | None, size: int, nodes: int
) -> None:
    assert most_unavailable(limit, size) == nodes
