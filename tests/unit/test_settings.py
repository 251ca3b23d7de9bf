"""Flags: what is accepted, and what is refused in words."""

import pytest

from controller.errors import BadConfiguration
from controller.settings import GATES, Settings, parse_gates


def test_every_gate_of_the_original_may_be_switched_off() -> None:
    assert parse_gates(",".join(f"{name}=false" for name in GATES)) == frozenset()


def test_a_gate_that_would_be_missed_is_refused_with_what_happens_instead() -> None:
    with pytest.raises(BadConfiguration) as refused:
        parse_gates("AdvancedDeployment=true,KeepWorkloadPausedOnRolloutDeletion=true")
    text = str(refused.value)
    assert text.startswith("--feature-gates: KeepWorkloadPausedOnRolloutDeletion=true is not")
    assert "goes on to its new template" in text
    assert "kubectl moonshift undo" in text
    assert "set it to false" in text


def test_the_gates_of_the_originals_manifests_are_accepted() -> None:
    assert parse_gates("AdvancedDeployment=true") == {"AdvancedDeployment"}


@pytest.mark.parametrize("gate", ["AppendPodSelector", "AllAlpha"])
def test_append_pod_selector_has_its_meaning(gate: str) -> None:
    assert Settings(feature_gates=parse_gates(f"{gate}=true")).appends_pod_labels is True
    assert Settings(feature_gates=parse_gates(f"{gate}=false")).appends_pod_labels is False


@pytest.mark.parametrize("text", ["Unknown=true", "RolloutHistory", "RolloutHistory=yes"])
def test_what_is_no_gate_is_refused(text: str) -> None:
    with pytest.raises(BadConfiguration, match="NAME of AdvancedDeployment"):
        parse_gates(text)
