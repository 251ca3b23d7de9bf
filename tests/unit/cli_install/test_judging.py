"""The obstacles to an installation, one row for each fact."""

import functools
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from controller.cli.install.cluster_facts import Configuration, Definition, Facts, Need, Runner
from controller.cli.install.gathering import GRANTED, LEADING, MADE, PLURALS
from controller.cli.install.obstacles import REQUIRED, Level, judge

DEPLOY = Path(__file__).parents[3] / "deploy"
FINE = Facts("kruise-rollout", "v1.35.4", frozenset(REQUIRED), None)
ROLLOUTS = "rollouts.rollouts.kruise.io"


def facts(**changes: Any) -> Facts:
    return msgspec.structs.replace(FINE, **changes)


def test_in_a_cluster_that_has_everything_nothing_is_found() -> None:
    assert judge(FINE) == ()
    ours = Definition(ROLLOUTS, "v1beta1", frozenset({"v1alpha1", "v1beta1"}))
    installed = Configuration("MutatingWebhookConfiguration", "m", original=False)
    again = facts(security="restricted", definitions=(ours,), configurations=(installed,))
    assert judge(again) == ()


def test_before_the_first_installation_a_missing_policy_is_no_problem() -> None:
    assert judge(facts(unguarded=("ValidatingAdmissionPolicy moonshift-records",))) == ()
    assert judge(facts(unlimited=("ValidatingAdmissionPolicy moonshift-controller-places",))) == ()


PROBLEMS = {
    "too old": (facts(version="v1.29.9"), "v1.29.9", "1.30 or newer"),
    "a group is off": (
        facts(served=frozenset(REQUIRED) - {"policy/v1"}),
        "policy/v1 is not served",
        "--runtime-config",
    ),
    "the original runs": (
        facts(runners=(Runner("kruise-rollout", "openkruise/kruise-rollout:v0.6", 2),)),
        "openkruise/kruise-rollout:v0.6",
        "kubectl scale -n kruise-rollout deployment/kruise-rollout --replicas=0",
    ),
    "another one runs elsewhere": (
        facts(elsewhere=("second",)),
        "a controller is at work in namespace second",
        "uninstall the one in second first",
    ),
    "Helm has the CRD": (
        facts(definitions=(Definition(ROLLOUTS, "v1beta1", frozenset(), "Helm release a/kruise"),)),
        "belongs to Helm release a/kruise",
        "helm.sh/resource-policy=keep",
    ),
    "webhooks that the API server does not trust": (
        facts(
            configurations=(Configuration("MutatingWebhookConfiguration", "m", False, ("a", "b")),)
        ),
        "MutatingWebhookConfiguration m has no caBundle in 2 of its entries (a, b)",
        "kubectl rollout status deployment/kruise-rollout-controller-manager -n kruise-rollout",
    ),
    "a definition that is being deleted": (
        facts(definitions=(Definition(ROLLOUTS, "v1beta1", frozenset(), leaving=True),)),
        f"CustomResourceDefinition {ROLLOUTS} is being deleted",
        f"kubectl wait --for=delete crd/{ROLLOUTS}",
    ),
    "a conversion that the API server does not trust": (
        facts(definitions=(Definition(ROLLOUTS, "v1beta1", frozenset(), untrusted=True),)),
        f"CustomResourceDefinition {ROLLOUTS} has no caBundle for its conversion",
        "the controller writes it when it starts",
    ),
    "no policy on the status": (
        facts(
            configurations=(Configuration("MutatingWebhookConfiguration", "m", False),),
            unguarded=("ValidatingAdmissionPolicy moonshift-rollout-status",),
        ),
        "ValidatingAdmissionPolicy moonshift-rollout-status: not installed",
        "status-policy.yaml",
    ),
    "no right": (
        facts(refused=("create deployments.apps in kruise-rollout",)),
        "you may not create deployments.apps in kruise-rollout",
        "administrator",
    ),
    "a gateway kind without its CRD": (
        facts(unserved=(("Lane (x.dev/v1)", "shop/web"),)),
        "Rollout shop/web leads traffic with Lane (x.dev/v1)",
        "install its CRD",
    ),
    "a gateway kind without rights": (
        facts(
            needs=(
                Need("patch", "x.dev", "lanes", "shop/web"),
                Need("watch", "x.dev", "lanes", "shop/web"),
            )
        ),
        "Rollout shop/web needs patch, watch on lanes.x.dev",
        "moonshift.dev/aggregate-to-controller",
    ),
    "an account of a namespace's script without rights": (
        facts(needs=(Need("patch", "x.dev", "lanes", "shop/web", "shop/router"),)),
        "needs patch on lanes.x.dev, which ServiceAccount shop/router does not have",
        "examples/own-script/rights.yaml",
    ),
    "a ConfigMap with a namespace's script that may not be read": (
        facts(needs=(Need("get", "", "configmaps", "shop/web", name="scripts"),)),
        "needs get on configmaps scripts, which the controller does not have",
        "examples/own-script/rights.yaml",
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_certain_failure_is_a_problem_with_its_remedy(name: str) -> None:
    seen, what, mend = PROBLEMS[name]
    (finding,) = judge(seen)
    assert finding.level is Level.PROBLEM
    assert what in finding.what
    assert mend in finding.mend


WARNINGS = {
    "newer than tested": (facts(version="v1.36.0"), "1.35 is the newest that was tested"),
    "a version of somebody's own": (facts(version="main"), "cannot be read"),
    "the namespace has no level": (facts(security=""), "has no Pod Security level"),
    "the namespace has another level": (facts(security="baseline"), "enforces 'baseline'"),
    "objects are stored in the old version": (
        facts(definitions=(Definition(ROLLOUTS, "v1alpha1", frozenset({"v1alpha1"})),)),
        "stores v1alpha1",
    ),
    "webhooks of the original": (
        facts(configurations=(Configuration("MutatingWebhookConfiguration", "m", True),)),
        "written by OpenKruise Rollouts",
    ),
    "no limits of the controller's account": (
        facts(
            configurations=(Configuration("MutatingWebhookConfiguration", "m", False),),
            unlimited=("ValidatingAdmissionPolicy moonshift-controller-places",),
        ),
        "a person with the token of kruise-rollout-controller-manager could write workloads of kube-system",
    ),
    "no right to give rights": (facts(may_escalate=False), "rights that you do not have yourself"),
    "something was not seen": (facts(gaps=("rollouts: no right",)), "not looked at: rollouts"),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_a_risk_is_a_warning(name: str) -> None:
    seen, what = WARNINGS[name]
    (finding,) = judge(seen)
    assert finding.level is Level.WARNING
    assert what in finding.what
    assert finding.mend


def test_problems_come_before_warnings() -> None:
    levels = [finding.level for finding in judge(facts(security="", version="v1.20.0"))]
    assert levels == [Level.PROBLEM, Level.WARNING]


@functools.cache
def installed() -> tuple[dict[str, Any], ...]:
    files = [*DEPLOY.glob("crds/*.yaml"), *DEPLOY.glob("kustomize/base/*.yaml")]
    texts = (path.read_text() for path in sorted(files) if path.name != "kustomization.yaml")
    return tuple(doc for text in texts for doc in yaml.safe_load_all(text) if doc)


def test_the_rights_to_install_are_asked_for_every_kind_of_the_manifests_and_no_other() -> None:
    assert {doc["kind"] for doc in installed()} == MADE.keys()


def test_every_definition_of_the_manifests_is_looked_at() -> None:
    names = {d["metadata"]["name"] for d in installed() if d["kind"] == "CustomResourceDefinition"}
    assert names == {f"{plural}.rollouts.kruise.io" for plural in PLURALS}


def test_the_gateway_kinds_that_need_no_further_right_are_those_of_the_controllers_role() -> None:
    (role,) = [
        doc for doc in installed() if doc["metadata"]["name"] == "kruise-rollout-manager-role"
        and doc["kind"] == "ClusterRole"
    ]  # fmt: skip
    covered = {
        (group, resource)
        for rule in role["rules"]
        if {*LEADING} <= {*rule["verbs"]}
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if group != "admissionregistration.k8s.io"
    }
    assert covered == GRANTED
