"""The example is the article's."""

import re

import pytest
import yaml

from tests.articles import ARTICLE, ARTICLE_SCRIPT
from tests.unit.demo.objects import EXAMPLE, manifests

COMMANDS = [
    "kubectl apply -f app.yaml",
    "kubectl apply -f rollout.yaml",
    "kubectl apply -f change.yaml",
    "kubectl-kruise rollout approve rollout/rollouts-demo",
    "kubectl-kruise rollout approve rollout/rollouts-demo",
]


def test_the_rollout_is_the_printed_one() -> None:
    assert manifests("rollout.yaml") == [yaml.safe_load(ARTICLE)]


def test_the_change_mounts_the_second_config_map_and_nothing_else() -> None:
    [changed] = manifests("change.yaml")
    [deployment] = [doc for doc in manifests("app.yaml") if doc["kind"] == "Deployment"]
    text = yaml.safe_dump(changed).replace("nginx-configmap-canary", "nginx-configmap-base")
    assert yaml.safe_load(text) == deployment


def test_the_readme_has_the_five_commands() -> None:
    text = (EXAMPLE / "README.md").read_text()
    assert re.findall(r"^\$ (.+)$", text, re.MULTILINE) == COMMANDS


def test_the_script_is_the_printed_one() -> None:
    [config_map] = manifests("scripts-configmap.yaml")
    key = "lua.traffic.routing.DestinationRule.networking.istio.io"
    assert config_map["data"] == {key: ARTICLE_SCRIPT}


@pytest.mark.parametrize("plural", ["virtualservices", "destinationrules", "gateways"])
def test_the_stand_ins_serve_every_version_and_prune_nothing(plural: str) -> None:
    path = EXAMPLE.parents[1] / "demo" / "crds" / f"{plural}.yaml"
    spec = yaml.safe_load(path.read_text())["spec"]
    assert [v["name"] for v in spec["versions"] if v["served"]] == ["v1alpha3", "v1beta1", "v1"]
    assert spec["conversion"] == {"strategy": "None"}
    for version in spec["versions"]:
        kept = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        assert kept["x-kubernetes-preserve-unknown-fields"] is True
