"""Chooses the mechanism for a Rollout's workload, by its style and its kind."""

from typing import assert_never

from controller.api.workload_kinds import WorkloadKind
from controller.domain.rollout.moving.mechanism import Mechanism
from controller.domain.rollout.styles.blue_green import BlueGreenDeployment
from controller.domain.rollout.styles.doubled import DoubledCloneSet
from controller.domain.rollout.styles.extra_deployment import ExtraDeployment
from controller.domain.rollout.styles.node_by_node import NodeByNode
from controller.domain.rollout.styles.paced_deployment import PacedDeployment
from controller.domain.rollout.styles.partitioned import (
    PartitionedCloneSet,
    PartitionedDaemonSet,
    PartitionedStatefulSet,
)
from controller.domain.rollout.words.release_context import Style
from controller.domain.rollout.words.release_value import Release

_PACED, _EXTRA = PacedDeployment(), ExtraDeployment()
_BLUE_GREEN, _DOUBLED = BlueGreenDeployment(), DoubledCloneSet()
_STATEFUL_SET, _CLONE_SET = PartitionedStatefulSet(), PartitionedCloneSet()
_ADVANCED_DAEMON_SET, _NODE_BY_NODE = PartitionedDaemonSet(), NodeByNode()


def mechanism_of(release: Release) -> Mechanism:
    """The mechanism of this workload in this style; callers know that the workload exists."""
    match release.style:
        case Style.CANARY:
            return _EXTRA
        case Style.BLUE_GREEN:
            return _DOUBLED if release.kind is WorkloadKind.CLONE_SET else _BLUE_GREEN
        case Style.PARTITION:
            return _by_partition(release.workload.kind)
        case _:
            assert_never(release.style)


def _by_partition(kind: WorkloadKind) -> Mechanism:
    match kind:
        case WorkloadKind.DEPLOYMENT:
            return _PACED
        case WorkloadKind.STATEFUL_SET:
            return _STATEFUL_SET
        case WorkloadKind.CLONE_SET:
            return _CLONE_SET
        case WorkloadKind.ADVANCED_DAEMON_SET:
            return _ADVANCED_DAEMON_SET
        case WorkloadKind.DAEMON_SET:
            return _NODE_BY_NODE
        case _:
            assert_never(kind)
