"""Kinds are named completely."""

from controller.kube.resources import CRDS, PODS, ROLLOUTS


def test_api_versions_and_names_are_written_as_kubernetes_does() -> None:
    assert (PODS.api_version, PODS.name) == ("v1", "pods")
    assert ROLLOUTS.api_version == "rollouts.kruise.io/v1beta1"
    assert ROLLOUTS.name == "rollouts.rollouts.kruise.io"
    assert not CRDS.namespaced
