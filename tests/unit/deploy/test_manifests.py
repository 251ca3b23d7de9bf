"""The manifests agree with the code and with each other."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api import names
from controller.api.workload_kinds import SELECTED_VALUES, WorkloadKind
from controller.certificates.for_worker import CLIENT_SECRET, WORKER_SECRET
from controller.certificates.identity import CONDITION, expression
from controller.certificates.publish import PUBLISHED, Address
from controller.cli.failures import OUR_WEBHOOKS
from controller.domain.shards import MOST
from controller.runtime.clock import SystemClock
from controller.settings import parse_tracked
from controller.webhook.admission import Admission

DEPLOY = Path(__file__).parents[3] / "deploy"
FILES = sorted([*DEPLOY.glob("crds/*.yaml"), *DEPLOY.glob("kustomize/**/*.yaml")])

Json = dict[str, Any]


@functools.cache
def documents() -> tuple[Json, ...]:
    """Every document of every file."""
    return tuple(
        one for path in FILES for one in yaml.load_all(path.read_text(), yaml.CSafeLoader) if one
    )


def of_kind(kind: str) -> list[Json]:
    """All objects of a kind."""
    return [one for one in documents() if one.get("kind") == kind]


def named(kind: str, name: str) -> Json:
    """The one object."""
    (found,) = [one for one in of_kind(kind) if one["metadata"]["name"] == name]
    return found


def webhooks() -> list[Json]:
    """All entries of both configurations."""
    kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    return [entry for kind in kinds for one in of_kind(kind) for entry in one["webhooks"]]


def served() -> set[str]:
    """The paths the server answers."""
    reads: Any = None
    return set(Admission(reads, reads, SystemClock(), is_own=reads).handlers())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(DEPLOY).as_posix())
def test_every_file_is_listed_and_parses(path: Path) -> None:
    assert all(isinstance(one, dict) for one in yaml.load_all(path.read_text(), yaml.CSafeLoader))
    listing = path.parent / "kustomization.yaml"
    if path.name not in ("kustomization.yaml", "ignore-differences.yaml") and listing.exists():
        assert path.name in yaml.safe_load(listing.read_text())["resources"]


def test_every_webhook_is_answered_and_lets_the_controller_pass() -> None:
    user = f"system:serviceaccount:{names.DEFAULT_NAMESPACE}:{names.CONTROLLER_ACCOUNT}"
    assert len({entry["name"] for entry in webhooks()}) == len(webhooks())
    for entry in webhooks():
        service = entry["clientConfig"]["service"]
        assert service["path"] in served()
        assert service["name"] == names.WEBHOOK_SERVICE
        assert service["namespace"] == names.DEFAULT_NAMESPACE
        conditions = {one["name"]: one["expression"] for one in entry["matchConditions"]}
        assert conditions[CONDITION] == expression((user,)), "what is installed needs no write"
        assert entry["sideEffects"] == "None"


def test_the_command_line_knows_which_webhooks_are_ours() -> None:
    assert {
        entry["name"] for entry in webhooks() if "moonshift" not in entry["name"]
    } == OUR_WEBHOOKS


def test_workloads_are_selected_by_their_label() -> None:
    for entry in webhooks():
        workloads = {"deployments", "daemonsets", "clonesets", "*"}
        if any(workloads & {*rule["resources"]} for rule in entry["rules"]):
            keys = [one["key"] for one in entry["objectSelector"]["matchExpressions"]]
            # Other labels say nothing: scaffolds of operators give every Deployment the label `control-plane`.
            assert keys == [names.WORKLOAD_TYPE]
            assert names.WORKLOAD_TYPE in entry["matchConditions"][1]["expression"]
            # Called again with what it answered, admission would take the hold for the owner's.
            assert entry["reinvocationPolicy"] == "Never"
    policies = {entry["name"]: entry["failurePolicy"] for entry in webhooks()}
    assert policies == {
        "mdeployment.kb.io": "Fail",
        "mdeployment-leave.moonshift.dev": "Ignore",
        "mcloneset.kb.io": "Fail",
        "mdaemonset.kb.io": "Fail",
        "mdaemonset-native.kb.io": "Fail",
        "munifiedworload.kb.io": "Fail",
        "mpodset-leave.moonshift.dev": "Ignore",
        "munifiedworkload-leave.moonshift.dev": "Ignore",
        "mservice.moonshift.dev": "Ignore",
        "mrolloutstatus.moonshift.dev": "Ignore",
        "vrollout.kb.io": "Fail",
        "vtrafficrouting.moonshift.dev": "Ignore",
        "vtrafficrouting-script.moonshift.dev": "Fail",
    }


def test_a_kind_that_works_like_a_statefulset_is_selected_by_the_values_that_the_controller_writes() -> (
    None
):
    found = {
        tuple(one["values"])
        for entry in webhooks()
        for one in entry.get("objectSelector", {}).get("matchExpressions", ())
        if one["key"] == names.WORKLOAD_TYPE and one["operator"] == "In"
    }
    assert found == {SELECTED_VALUES}
    assert WorkloadKind.STATEFUL_SET.label in SELECTED_VALUES


def test_kinds_of_workloads_are_listed_and_some_namespaces_are_left_out() -> None:
    for entry in webhooks():
        rules = [(*rule["apiGroups"], *rule["resources"]) for rule in entry["rules"]]
        assert not any("*" in words for words in rules), entry["name"]
        if "objectSelector" in entry:
            (excluded,) = entry["namespaceSelector"]["matchExpressions"]
            assert excluded["operator"] == "NotIn"
            assert set(excluded["values"]) == {"kube-system", names.DEFAULT_NAMESPACE}


def test_where_the_failure_policy_is_fail_deletions_and_finalizers_do_not_depend_on_us() -> None:
    for entry in webhooks():
        if entry["failurePolicy"] == "Fail":
            conditions = {one["name"] for one in entry["matchConditions"]}
            going = {"not-being-deleted", "something-we-judge-changed"} <= conditions
            assert going or "spec-changed" in conditions


def test_a_script_of_the_namespace_is_let_in_by_no_webhook_that_may_be_ignored() -> None:
    scripted = "!has(object.metadata.deletionTimestamp) || object.?spec != oldObject.?spec"
    by_name = {entry["name"]: entry for entry in webhooks()}
    conditions = {
        name: {one["name"]: one["expression"] for one in entry["matchConditions"]}
        for name, entry in by_name.items()
    }
    assert scripted in " ".join(conditions["vrollout.kb.io"]["not-being-deleted"].split())
    ignored = conditions["vtrafficrouting.moonshift.dev"]["no-script-of-the-namespace"]
    asked = conditions["vtrafficrouting-script.moonshift.dev"]["script-of-the-namespace"]
    assert ignored == f"!{asked}"


def test_the_example_of_another_kind_adds_to_the_entries_it_names() -> None:
    folder = DEPLOY / "kustomize" / "other-kinds"
    (patch,) = yaml.safe_load((folder / "kustomization.yaml").read_text())["patches"]
    entries = named("MutatingWebhookConfiguration", patch["target"]["name"])["webhooks"]
    tested, *_ = operations = yaml.safe_load(patch["patch"])
    assert [one["op"] for one in operations] == ["test", "add", "test", "add"]
    for test, add in ((operations[0], operations[1]), (operations[2], operations[3])):
        index = int(test["path"].split("/")[2])
        assert entries[index]["name"] == test["value"]
        assert add["path"] == f"/webhooks/{index}/rules/-"
        assert add["value"].keys() == entries[index]["rules"][0].keys()
    assert tested["value"] == "munifiedworload.kb.io"


@pytest.mark.parametrize("kind", ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"])
def test_the_component_of_one_namespace_limits_every_entry(kind: str) -> None:
    folder = DEPLOY / "kustomize" / "namespaced"
    patches = yaml.safe_load((folder / "kustomization.yaml").read_text())["patches"]
    (patch,) = [one for one in patches if one["target"]["kind"] == kind]
    operations = yaml.safe_load(patch["patch"])
    limited = [one["path"].split("/")[2] for one in operations if one["op"] == "add"]
    tested = [one["value"] for one in operations if one["op"] == "test"]
    entries = named(kind, patch["target"]["name"])["webhooks"]
    assert tested == [entry["name"] for entry in entries]
    assert limited == [str(index) for index in range(len(entries))]


REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")
"""Groups of questions to the API server, which belong to no namespace."""


def test_questions_about_accounts_are_allowed_where_one_namespace_is_served() -> None:
    """Aggregated roles are bound in that namespace only, where a right on an object of no namespace is none."""

    def questions(role: Json) -> set[str]:
        rules = [rule for rule in role["rules"] if {*REVIEWS} & {*rule.get("apiGroups", ())}]
        return {resource for rule in rules for resource in rule["resources"]}

    alone = named("ClusterRole", "moonshift-cluster-objects-role")
    assert questions(alone) == set().union(*map(questions, of_kind("ClusterRole")))


def test_the_objects_that_carry_the_authority_are_installed_and_writable() -> None:
    rules = named("ClusterRole", "kruise-rollout-manager-role")["rules"]
    for kind, name in PUBLISHED:
        assert named(kind, name)
        (rule,) = [one for one in rules if name in one.get("resourceNames", ())]
        assert {"get", "update"} <= set(rule["verbs"])


def test_the_secrets_the_controller_keeps_are_its_to_write() -> None:
    roles = {one["metadata"]["name"]: one for one in of_kind("Role")}
    rules = roles["kruise-rollout-manager-role"]["rules"]
    (rule,) = [one for one in rules if one["resources"] == ["secrets"] and "resourceNames" in one]
    assert set(rule["resourceNames"]) == {names.WEBHOOK_SECRET, WORKER_SECRET, CLIENT_SECRET}
    (lease,) = [
        one
        for one in roles["kruise-rollout-leader-election-role"]["rules"]
        if "resourceNames" in one
    ]
    of_shards = [f"{names.LEASE}-{shard}" for shard in range(MOST)]
    assert lease["resourceNames"] == [names.LEASE, *of_shards]


def fields(schema: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every field of a schema, by its path."""
    yield path, schema
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")
    for name, field in schema.get("properties", {}).items():
        yield from fields(field, f"{path}.{name}")


def schemas() -> Iterator[tuple[str, Json]]:
    """Every field of every version of our kinds."""
    for crd in of_kind("CustomResourceDefinition"):
        for version in crd["spec"]["versions"]:
            named = f"{crd['spec']['names']['kind']} {version['name']}"
            yield from fields(version["schema"]["openAPIV3Schema"], named)


def test_every_list_has_a_longest_length() -> None:
    assert [
        path
        for path, field in schemas()
        if field.get("type") == "array" and not field.get("maxItems")
    ] == []


def statuses() -> Iterator[tuple[str, Json]]:
    """Our own parts of every status, each field by its path."""
    for path, field in schemas():
        ours = (".status.moonshift", ".status.members", ".status.descent", ".status.emptySides")
        if any(f"{part}." in f"{path}." or f"{part}[" in path for part in ours):
            yield path, field


def test_our_part_of_a_status_keeps_no_unknown_field_and_every_field_has_a_bound() -> None:
    found = dict(statuses())
    assert len([path for path in found if path.endswith(".status.moonshift.step")]) == 2
    for path, field in found.items():
        free = "x-kubernetes-preserve-unknown-fields" in field
        # A number or a text, which no type of a schema says.
        assert not free or (field["maxProperties"], field["maxItems"]) == (0, 0), path
        parts: list[Json] = [field, field.get("additionalProperties", {}), field.get("items", {})]
        for part in parts:
            bounds = {"string": "maxLength", "integer": "maximum"}
            if bound := bounds.get(part.get("type", "")):
                assert part[bound], path
            if part.get("type") == "object":
                assert "properties" in part or part["maxProperties"], path


def test_the_status_of_no_kind_is_free() -> None:
    assert [
        path
        for path, field in schemas()
        if ".status." in path
        and field.get("type") == "object"
        and "x-kubernetes-preserve-unknown-fields" in field
    ] == []


@pytest.mark.parametrize(
    ("leaf", "bad"), [("apiVersion", "../../api/v1"), ("kind", "../x"), ("name", "../../x")]
)
def test_fields_that_become_part_of_an_address_have_a_pattern(leaf: str, bad: str) -> None:
    ends = tuple(
        f"{holder}.{leaf}" for holder in ("customNetworkRefs[]", "networkRefs[]", "workloadRef")
    )
    found = [field for path, field in schemas() if path.endswith(ends) and ".spec." in path]
    assert len(found) >= 5
    for field in found:
        assert not re.search(field["pattern"], bad)
        assert field["maxLength"]


def test_no_role_has_a_wildcard() -> None:
    for role in (*of_kind("ClusterRole"), *of_kind("Role")):
        for rule in role["rules"]:
            assert rule["verbs"], role
            assert "*" not in (value for values in rule.values() for value in values), role


def test_bindings_name_existing_objects() -> None:
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in of_kind(kind):
            assert named(binding["roleRef"]["kind"], binding["roleRef"]["name"])
            for subject in binding["subjects"]:
                # kustomize changes the namespace of both, if it is the same.
                account = named("ServiceAccount", subject["name"])
                assert account["metadata"]["namespace"] == subject["namespace"]


def pods() -> list[Json]:
    """Pod specs of both processes."""
    return [one["spec"]["template"]["spec"] for one in of_kind("Deployment")]


def test_processes_are_locked_down() -> None:
    assert len(pods()) == 2
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"]


def test_the_worker_has_no_credential_and_no_way_out() -> None:
    pod = named("Deployment", "moonshift-luaworker")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    account = named("ServiceAccount", pod["serviceAccountName"])
    assert account["automountServiceAccountToken"] is False
    assert not [
        one
        for kind in ("ClusterRoleBinding", "RoleBinding")
        for one in of_kind(kind)
        if any(subject["name"] == pod["serviceAccountName"] for subject in one["subjects"])
    ]
    policy = named("NetworkPolicy", "moonshift-luaworker")["spec"]
    assert policy["egress"] == []
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    (volume,) = pod["volumes"]
    assert volume["secret"]["secretName"] == WORKER_SECRET
    assert volume["secret"]["optional"] is True, "the pod starts, and waits for its certificates"


def test_the_controller_finds_the_workers_pods_by_the_label_it_looks_for_and_may_annotate_them() -> (
    None
):
    template = named("Deployment", "moonshift-luaworker")["spec"]["template"]
    (argument,) = [
        one
        for one in named("Deployment", names.CONTROLLER_ACCOUNT)["spec"]["template"]["spec"][
            "containers"
        ][0]["args"]
        if one.startswith("--lua-worker=")
    ]
    service = argument.removeprefix("--lua-worker=dns:///").partition(":")[0]
    assert template["metadata"]["labels"]["app.kubernetes.io/name"] == service
    rules = named("ClusterRole", "kruise-rollout-manager-role")["rules"]
    (pods,) = [one for one in rules if one["resources"] == ["pods"]]
    assert {"list", "patch"} <= {*pods["verbs"]}


def test_services_find_their_pods_and_ports() -> None:
    templates = [one["spec"]["template"] for one in of_kind("Deployment")]
    for service in of_kind("Service"):
        selector = service["spec"]["selector"].items()
        (template,) = [one for one in templates if selector <= one["metadata"]["labels"].items()]
        ports = {port["name"] for port in template["spec"]["containers"][0]["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


def subtrees(tree: object, name: str) -> Iterator[Json]:
    """All schemas called `name`."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == name and isinstance(value, dict):
                yield value
            yield from subtrees(value, name)
    elif isinstance(tree, list):
        for value in tree:
            yield from subtrees(value, name)


def test_schemas_that_mean_the_same_are_the_same() -> None:
    """The CRDs repeat themselves, because a CRD cannot refer."""
    versions = {one["name"]: one for one in named(*PUBLISHED[0])["spec"]["versions"]}
    alpha, beta = versions["v1alpha1"], versions["v1beta1"]
    for name in (
        "canaryStatus",
        "conditions",
        "moonshift",
        "requestHeaderModifier",
        "pause",
        "ingress",
    ):
        first, *others = [*subtrees(alpha["schema"], name), *subtrees(beta["schema"], name)]
        assert all(other == first for other in others), name
    plans = beta["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["strategy"]
    both = [plans["properties"][style]["properties"] for style in ("canary", "blueGreen")]
    for name in ("steps", "trafficRoutings", "failureThreshold"):
        assert both[0][name] == both[1][name]


def test_v1beta1_is_stored_and_both_are_served() -> None:
    versions = named(*PUBLISHED[0])["spec"]["versions"]
    assert [(one["name"], one["served"], one["storage"]) for one in versions] == [
        ("v1alpha1", True, False),
        ("v1beta1", True, True),
    ]
    for one in of_kind("CustomResourceDefinition"):
        for version in one["spec"]["versions"]:
            reports = "status" in version["schema"]["openAPIV3Schema"]["properties"]
            assert version.get("subresources") == ({"status": {}} if reports else None)


ONLY_IN_A_ROLLOUT = "!has(self.source) || !has(self.source.scriptRef)"
"""The rule that only templates have: nobody checks the right of their author to a ServiceAccount."""


def _without_rule(metrics: Any, rule: str) -> Any:
    items = metrics["items"]
    rules = items["x-kubernetes-validations"]
    kept = [one for one in rules if one["rule"] != rule]
    assert len(kept) == len(rules) - 1
    return {**metrics, "items": {**items, "x-kubernetes-validations": kept}}


def test_every_copy_of_a_gates_schema_is_the_same() -> None:
    steps, backgrounds, metrics, named_templates = [], [], [], []
    for version in named(*PUBLISHED[0])["spec"]["versions"]:
        strategy = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][
            "strategy"
        ]
        for style in ("canary", "blueGreen"):
            if style in strategy["properties"]:
                plan = strategy["properties"][style]["properties"]
                steps.append(plan["steps"]["items"]["properties"]["analysis"])
                backgrounds.append(plan["analysis"])
    assert len(steps) == 3
    assert all(one == steps[0] for one in steps)
    assert all(one == backgrounds[0] for one in backgrounds)
    for plural in ("analysistemplates", "clusteranalysistemplates"):
        found = named("CustomResourceDefinition", f"{plural}.rollouts.kruise.io")
        (version,) = found["spec"]["versions"]
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        metrics.append(_without_rule(spec["metrics"], ONLY_IN_A_ROLLOUT))
        named_templates.append(spec["templates"]["items"])
    named_templates.append(steps[0]["properties"]["templates"]["items"])
    assert all(one == named_templates[0] for one in named_templates)
    metrics += [one["properties"]["metrics"] for one in (steps[0], backgrounds[0])]
    assert all(one == metrics[0] for one in metrics)


def test_configmaps_and_secrets_are_no_part_of_the_default_installation() -> None:
    tracking = DEPLOY / "kustomize" / "track-config"
    listed = [
        *yaml.safe_load((DEPLOY / "kustomize" / "kustomization.yaml").read_text())["resources"],
        *yaml.safe_load((DEPLOY / "kustomize/base/kustomization.yaml").read_text())["resources"],
    ]
    assert not [entry for entry in listed if "track-config" in entry]
    everywhere = named("ClusterRole", "kruise-rollout-manager-role")["rules"]
    assert not [one for one in everywhere if {"configmaps", "secrets"} & {*one["resources"]}]
    for name in ("configmaps", "secrets"):
        role = yaml.safe_load((tracking / name / "role.yaml").read_text())
        assert role["metadata"]["labels"] == {"moonshift.dev/aggregate-to-controller": "true"}
        assert [rule["resources"] for rule in role["rules"]] == [[name]]
        component = yaml.safe_load((tracking / name / "kustomization.yaml").read_text())
        (patch,) = component["patches"]
        assert named("Deployment", patch["target"]["name"])
        (operation,) = yaml.safe_load(patch["patch"])
        assert parse_tracked(operation["value"].removeprefix("--track-config="))


def test_the_certificate_of_cert_manager_is_for_the_name_that_is_called_and_may_be_read() -> None:
    (certificate,) = [c for c in of_kind("Certificate") if not c["spec"].get("isCA")]
    address = Address(certificate["metadata"]["namespace"])
    assert certificate["spec"]["dnsNames"] == [address.called()]
    secret = certificate["spec"]["secretName"]
    (rule,) = named("Role", "moonshift-issued-certificate-role")["rules"]
    assert rule["resourceNames"] == [secret]
    assert rule["verbs"] == ["get", "list", "watch"], "who issues it writes it"
    component = DEPLOY / "kustomize" / "cert-manager" / "kustomization.yaml"
    assert f"--webhook-issued-secret={secret}\n" in component.read_text()
