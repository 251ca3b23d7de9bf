"""The facts of a cluster that prevent an installation, with a remedy for each.

Invariant: pure; each finding names one problem and one remedy. An unknown fact is a warning.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from controller.api.names import CONTROLLER_ACCOUNT, LEASE
from controller.cli.install.cluster_facts import Facts, Need

OLDEST_MINOR = 30
TESTED_MINOR = 35
REQUIRED = (
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "apps/v1",
    "autoscaling/v2",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "events.k8s.io/v1",
    "networking.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
)
"""Group versions that the manifests are written in, or the controller reads."""
STORAGE = {"rollouts.rollouts.kruise.io": "v1beta1"}
"""The version in which objects have to be stored, if the CRD has more than one."""
_VERSION = re.compile(r"v?1\.(\d+)")


class Level(StrEnum):
    """How grave a finding is."""

    PROBLEM = "problem"
    """The installation would not work."""
    WARNING = "warning"
    """The installation may not work, or a fact is not known."""


class Finding(msgspec.Struct, frozen=True):
    """One problem, and its remedy."""

    level: Level
    what: str
    mend: str


def judge(facts: Facts) -> tuple[Finding, ...]:
    """All obstacles, the most serious first."""
    found = (
        *_version(facts),
        *_groups(facts),
        *_runners(facts),
        *_elsewhere(facts),
        *_definitions(facts),
        *_configurations(facts),
        *_untrusted(facts),
        *_unguarded(facts),
        *_unlimited(facts),
        *_namespace(facts),
        *_rights(facts),
        *_gateways(facts),
        *_gaps(facts),
    )
    return tuple(sorted(found, key=lambda finding: finding.level is not Level.PROBLEM))


def _problem(what: str, mend: str) -> Finding:
    return Finding(Level.PROBLEM, what, mend)


def _warning(what: str, mend: str) -> Finding:
    return Finding(Level.WARNING, what, mend)


def _version(facts: Facts) -> Iterator[Finding]:
    read = _VERSION.match(facts.version)
    if read is None:
        yield _warning(
            f"the API server's version {facts.version!r} cannot be read",
            f"see that it is Kubernetes 1.{OLDEST_MINOR} or newer",
        )
    elif int(read[1]) < OLDEST_MINOR:
        yield _problem(
            f"the API server is {facts.version}: match conditions of webhooks are not stable there, and without them "
            "the controller's own writes would be judged",
            f"upgrade to Kubernetes 1.{OLDEST_MINOR} or newer",
        )
    elif int(read[1]) > TESTED_MINOR:
        yield _warning(
            f"the API server is {facts.version}, and 1.{TESTED_MINOR} is the newest that was tested",
            "try it in a cluster for tests first",
        )


def _groups(facts: Facts) -> Iterator[Finding]:
    for missing in sorted({*REQUIRED} - facts.served):
        yield _problem(
            f"{missing} is not served", "switch it on at the API server (--runtime-config)"
        )


def _runners(facts: Facts) -> Iterator[Finding]:
    for one in facts.runners:
        yield _problem(
            f"Deployment {facts.namespace}/{one.name} runs {one.image} as {CONTROLLER_ACCOUNT}: two controllers would "
            "work on the same Rollouts",
            f"kubectl scale -n {facts.namespace} deployment/{one.name} --replicas=0",
        )


def _elsewhere(facts: Facts) -> Iterator[Finding]:
    for namespace in facts.elsewhere:
        yield _problem(
            f"a controller is at work in namespace {namespace}: it renews Lease {namespace}/{LEASE}. Leases of two "
            "namespaces do not keep two controllers apart: both would work on the same Rollouts",
            f"uninstall the one in {namespace} first, or install into {namespace}: the webhook configurations are one "
            "for the whole cluster",
        )


def _definitions(facts: Facts) -> Iterator[Finding]:
    for one in facts.definitions:
        wanted = STORAGE.get(one.name)
        if wanted and one.storage != wanted:
            yield _warning(
                f"CustomResourceDefinition {one.name} stores {one.storage}",
                f"none: the CRD of deploy/crds stores {wanted}, and reads what is there by conversion",
            )
        if one.leaving:
            yield _problem(
                f"CustomResourceDefinition {one.name} is being deleted, with every object of its kind; what is applied "
                "to it now is lost",
                f"wait (kubectl wait --for=delete crd/{one.name}), then apply deploy/crds. A controller that runs "
                "restores routes, Services and workloads of its Rollouts first; if none runs, start one, or see 'When "
                "a Rollout cannot be deleted' in docs/operations.md",
            )
        if one.owner:
            yield _problem(
                f"CustomResourceDefinition {one.name} belongs to {one.owner}, which would overwrite ours",
                "take it out of there without deleting it (Helm: annotate it helm.sh/resource-policy=keep first), then "
                "kubectl apply --server-side --force-conflicts -f deploy/crds",
            )


def _configurations(facts: Facts) -> Iterator[Finding]:
    for one in facts.configurations:
        if one.original:
            yield _warning(
                f"{one.kind} {one.name} was written by OpenKruise Rollouts",
                "none, where its controller is scaled to 0: the manifests replace the entries",
            )


def _untrusted(facts: Facts) -> Iterator[Finding]:
    for one in facts.configurations:
        if one.untrusted:
            yield _problem(
                f"{one.kind} {one.name} has no caBundle in {len(one.untrusted)} of its entries "
                f"({', '.join(one.untrusted)}): the API server refuses every change that they select",
                _wait_for_the_controller(facts),
            )
    for definition in facts.definitions:
        if definition.untrusted:
            yield _problem(
                f"CustomResourceDefinition {definition.name} has no caBundle for its conversion: the API server cannot "
                "read its objects in another version than the stored one",
                _wait_for_the_controller(facts),
            )


def _unguarded(facts: Facts) -> Iterator[Finding]:
    """Policies come with the webhook configurations; before the first installation neither is there."""
    if facts.unguarded and any(not one.original for one in facts.configurations):
        yield _problem(
            f"{', '.join(facts.unguarded)}: not installed; while no controller answers, whoever may patch a status can "
            "release to 100 % and write any name into the record of approvals",
            "apply deploy/kustomize/base/status-policy.yaml with your kustomization, or upgrade the Helm release",
        )


def _unlimited(facts: Facts) -> Iterator[Finding]:
    if facts.unlimited and any(not one.original for one in facts.configurations):
        yield _warning(
            f"{', '.join(facts.unlimited)}: not installed; a person with the token of {CONTROLLER_ACCOUNT} could write "
            "workloads of kube-system, and every rule of the webhook configurations",
            "apply deploy/kustomize/base/controller-policy.yaml with your kustomization, or upgrade the Helm release",
        )


def _wait_for_the_controller(facts: Facts) -> str:
    return (
        "the controller writes it when it starts: kubectl rollout status "
        f"deployment/{CONTROLLER_ACCOUNT} -n {facts.namespace}; if it is ready and the caBundle stays empty, "
        "something empties it again and again: look at the object's managedFields"
    )


def _namespace(facts: Facts) -> Iterator[Finding]:
    if facts.security is None or facts.security == "restricted":
        return
    level = f"enforces {facts.security!r}" if facts.security else "has no Pod Security level"
    yield _warning(
        f"namespace {facts.namespace} {level}, and the manifests make it `restricted`: other pods in it may be refused "
        "from then on",
        "install into a namespace of its own, or take the label out of namespace.yaml",
    )


def _rights(facts: Facts) -> Iterator[Finding]:
    for one in facts.refused:
        yield _problem(f"you may not {one}", "ask for the right, or let an administrator install")
    if not facts.may_escalate:
        yield _warning(
            "you may not create a role with rights that you do not have yourself",
            "ask for `escalate` on clusterroles and roles and `bind` on them, or let an administrator apply the roles",
        )


_OF_THE_CLUSTER = (
    "give it by a ClusterRole labelled moonshift.dev/aggregate-to-controller=true "
    "(deploy/kustomize/gateways)"
)
_OF_THE_NAMESPACE = (
    "give it by a Role and a RoleBinding of that namespace (examples/own-script/rights.yaml)"
)


def _gateways(facts: Facts) -> Iterator[Finding]:
    for kind, rollout in facts.unserved:
        yield _problem(
            f"Rollout {rollout} leads traffic with {kind}, which is not served",
            "install its CRD, or correct apiVersion and kind",
        )
    verbs: dict[Need, list[str]] = {}
    for need in facts.needs:
        verbs.setdefault(need._replace(verb=""), []).append(need.verb)
    for need, needed in verbs.items():
        who = f"ServiceAccount {need.account}" if need.account else "the controller"
        what = f"{need.resource}.{need.group}".rstrip(".") + (need.name and f" {need.name}")
        yield _problem(
            f"Rollout {need.rollout} needs {', '.join(needed)} on {what}, which {who} does not have",
            _OF_THE_NAMESPACE if need.account or need.name else _OF_THE_CLUSTER,
        )


def _gaps(facts: Facts) -> Iterator[Finding]:
    for gap in facts.gaps:
        yield _warning(f"not looked at: {gap}", "ask somebody with the right to read it")
