"""The flags that are accepted, and the flags that are refused with a reason."""

from pathlib import Path

import msgspec
import pytest

from controller.errors import BadConfiguration
from controller.settings import (
    GATES,
    Settings,
    check_environment,
    check_issued,
    check_metrics,
    parse_gates,
)


def test_every_feature_gate_of_the_original_may_be_switched_off() -> None:
    assert parse_gates(",".join(f"{name}=false" for name in GATES)) == frozenset()


def test_a_gate_that_would_be_skipped_is_refused_with_the_effect_named() -> None:
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
def test_an_unknown_feature_gate_is_refused(text: str) -> None:
    with pytest.raises(BadConfiguration, match="NAME of AdvancedDeployment"):
        parse_gates(text)


URL = "https://10.0.0.1:9876"


@pytest.mark.parametrize(
    ("environment", "url", "words"),
    [
        ({"WEBHOOK_HOST": "10.0.0.1"}, "", "--webhook-url=https://10.0.0.1:9876"),
        ({"WEBHOOK_HOST": "h", "WEBHOOK_PORT": "1"}, "", "--webhook-url=https://h:1"),
        ({"WEBHOOK_CERT_WRITER": "fs"}, "", "here that is secret"),
        ({"WEBHOOK_CERT_WRITER": "secret"}, URL, "here that is fs"),
    ],
)
def test_a_variable_of_the_original_that_would_be_missed_is_refused(
    environment: dict[str, str], url: str, words: str
) -> None:
    with pytest.raises(BadConfiguration) as refused:
        check_environment(environment, url)
    assert words in str(refused.value)


def test_variables_that_agree_with_the_flags_are_accepted() -> None:
    check_environment({"WEBHOOK_HOST": "10.0.0.1", "WEBHOOK_CERT_WRITER": "fs"}, URL)
    check_environment({"WEBHOOK_CERT_WRITER": "secret"}, "")
    check_environment({}, "")


@pytest.mark.parametrize("address", ["", "0"])
def test_protected_metrics_that_are_not_served_are_refused(address: str) -> None:
    with pytest.raises(BadConfiguration, match="--metrics-bind-address"):
        check_metrics(Settings(metrics_secure=True, metrics_bind_address=address))
    check_metrics(Settings(metrics_bind_address=address))


def test_a_certificate_of_somebody_else_needs_a_secret_of_its_own() -> None:
    folder = Settings(
        issued_secret="theirs", webhook_url=URL, webhook_cert_dir=Path("certificates")
    )
    with pytest.raises(BadConfiguration, match="add --webhook-certs-in-secret"):
        check_issued(folder)
    with pytest.raises(BadConfiguration, match="into another one"):
        check_issued(Settings(issued_secret="same", secret_name="same"))
    check_issued(msgspec.structs.replace(folder, webhook_certs_in_secret=True))
    check_issued(Settings())
