"""The record that admission saved on a workload is read in the same way as admission reads it."""

import msgspec
import pytest

from controller.api.names import ORIGINAL_STRATEGY
from controller.api.workloads import Deployment, DeploymentMeta
from controller.domain.pods.marks import hold_on


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ('{"release": "r1", "minReadySeconds": 7}', True),
        ('{"release": "", "minReadySeconds": 7}', False),
        ('{"maxUnavailable": "25%", "maxSurge": "25%"}', False),
        ("{}", False),
        ("no json", False),
        ("", False),
    ],
)
def test_a_record_without_a_release_means_the_same_here_and_at_admission(
    text: str, known: bool
) -> None:
    workload = Deployment(metadata=DeploymentMeta(annotations={ORIGINAL_STRATEGY: text}))
    raw = msgspec.json.decode(msgspec.json.encode(workload))
    assert (hold_on(workload).record is not None) is known
    assert (hold_on(raw).record is not None) is known
