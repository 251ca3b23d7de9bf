"""Every pod of the manifests keeps the Pod Security level "restricted", and the further rules of scanners.

The rules are those of the Kubernetes Pod Security Standards, each with a counter-example that it finds. Secrets come by
files, not by the environment; images have no tag of their own, so that an administrator can pin them by digest.
"""

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import yaml

from tests.unit.deploy.test_manifests import DEPLOY, Json, named, of_kind

VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
"""Kinds of volumes that "restricted" allows."""
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def containers(pod: Json) -> list[Json]:
    return [one for part in CONTAINERS for one in pod.get(part) or ()]


def beyond_restricted(pod: Json) -> list[str]:
    """The settings of a pod's specification that the "restricted" level forbids."""
    found = [f"{name} is on" for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)]
    for volume in pod.get("volumes") or ():
        kinds = volume.keys() - {"name"}
        found += [f"volume {kind}" for kind in kinds if kind not in VOLUMES]
    own = pod.get("securityContext") or {}
    for one in containers(pod):
        context = {**own, **(one.get("securityContext") or {})}
        found += [f"{one['name']}: {item}" for item in _of_a_container(one, context)]
    return found


def _of_a_container(one: Json, context: Json) -> list[str]:
    capabilities = context.get("capabilities") or {}
    rules = {
        "is privileged": context.get("privileged"),
        "may escalate": context.get("allowPrivilegeEscalation") is not False,
        "may be root": context.get("runAsNonRoot") is not True or context.get("runAsUser") == 0,
        "keeps capabilities": capabilities.get("drop") != ["ALL"],
        "adds capabilities": set(capabilities.get("add") or ()) - {"NET_BIND_SERVICE"},
        "has no seccomp profile": (context.get("seccompProfile") or {}).get("type")
        not in ("RuntimeDefault", "Localhost"),
        "has a port of the host": any(port.get("hostPort") for port in one.get("ports") or ()),
        "sees processes": context.get("procMount", "Default") != "Default",
    }
    return [item for item, broken in rules.items() if broken]


def pods() -> dict[str, Json]:
    """The pod of every workload in the manifests, whatever its kind."""
    return {
        f"{kind} {one['metadata']['name']}": one["spec"]["template"]["spec"]
        for kind in ("Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet")
        for one in of_kind(kind)
    }


PODS = pods()


@pytest.mark.parametrize("name", PODS)
def test_a_pod_keeps_the_level_restricted(name: str) -> None:
    assert beyond_restricted(PODS[name]) == []


def _with(path: tuple[str | int, ...], value: Any) -> Callable[[Json], Json]:
    def change(pod: Json) -> Json:
        changed = deepcopy(pod)
        at: Any = changed
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
        return changed

    return change


MAIN = ("containers", 0, "securityContext")
WORSE: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "hostNetwork is on": (("hostNetwork",), True),
    "volume hostPath": (("volumes",), [{"name": "x", "hostPath": {"path": "/"}}]),
    "is privileged": ((*MAIN, "privileged"), True),
    "may escalate": ((*MAIN, "allowPrivilegeEscalation"), True),
    "may be root": (("securityContext", "runAsUser"), 0),
    "keeps capabilities": ((*MAIN, "capabilities"), {}),
    "adds capabilities": ((*MAIN, "capabilities"), {"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
    "has no seccomp profile": (("securityContext", "seccompProfile"), {}),
    "has a port of the host": (("containers", 0, "ports"), [{"hostPort": 80}]),
    "sees processes": ((*MAIN, "procMount"), "Unmasked"),
}


@pytest.mark.parametrize("expected", WORSE)
def test_a_pod_beyond_the_restricted_level_is_found(expected: str) -> None:
    path, value = WORSE[expected]
    (found,) = beyond_restricted(_with(path, value)(next(iter(PODS.values()))))
    assert found.endswith(expected)


@pytest.mark.parametrize("name", PODS)
def test_a_container_has_requests_and_limits(name: str) -> None:
    for one in containers(PODS[name]):
        assert {"cpu", "memory"} <= one["resources"]["requests"].keys()
        assert "memory" in one["resources"]["limits"]
        assert one["securityContext"]["readOnlyRootFilesystem"] is True
        assert one["livenessProbe"]
        assert one["readinessProbe"]


@pytest.mark.parametrize("name", PODS)
def test_no_secret_is_in_the_environment(name: str) -> None:
    for one in containers(PODS[name]):
        assert not one.get("envFrom")
        sources = [
            next(iter(entry.get("valueFrom") or {"value": ""})) for entry in one.get("env", ())
        ]
        assert set(sources) <= {"fieldRef"}


@pytest.mark.parametrize("name", PODS)
def test_an_image_can_be_pinned_by_digest(name: str) -> None:
    for one in containers(PODS[name]):
        assert not {":", "@"} & {*one["image"]}, "the administrator chooses the version"
    values = yaml.safe_load((DEPLOY / "helm" / "moonshift" / "values.yaml").read_text())
    for part in ("controller", "worker"):
        assert "digest" in values[part]["image"]


def test_the_namespace_asks_for_the_level_restricted() -> None:
    labels = named("Namespace", "kruise-rollout")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_nobody_is_bound_to_a_role_of_the_cluster_that_is_not_ours() -> None:
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in of_kind(kind):
            assert binding["roleRef"]["name"].startswith(
                ("kruise-rollout", "moonshift", "system:auth")
            )


def test_no_role_of_the_processes_may_make_itself_greater() -> None:
    dangerous = {"escalate", "bind", "impersonate"}
    for role in (*of_kind("ClusterRole"), *of_kind("Role")):
        for rule in role["rules"]:
            assert not dangerous & {*rule["verbs"]}, role["metadata"]["name"]
            assert not {"pods/exec", "nodes", "serviceaccounts/token"} & {
                *rule.get("resources", ())
            }


def test_every_exception_for_the_scanner_has_its_reason() -> None:
    lines = (DEPLOY / "checkov.yaml").read_text().partition("skip-check:\n")[2].splitlines()
    assert lines
    assert [line for line in lines if not re.fullmatch(r"  - CKV_K8S_\d+ +# \S.+[.,]", line)] == []
