"""`deploy/kustomize/gitops/ignore-differences.yaml`, made from the code: `python -m tests.gitops.ignoring` writes it.

Why: a GitOps tool that reverts Moonshift's writes during a release would fight it. Invariant: kinds come from the
tables of the product (workloads, packaged scripts), the places are the fields that the product writes; a field is
ignored only while an object carries the mark of a release, so that nothing of the owner's goes unnoticed at rest.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from controller.api.names import (
    CONTROLLER_REVISION_HASH,
    IN_PROGRESSING,
    ORIGINAL_BEHAVIOR,
    PINNED,
    POD_TEMPLATE_HASH,
    ROUTE_STATE,
)
from controller.api.workload_kinds import KNOWN_WORKLOADS, WorkloadKind, workload_kind
from controller.scripts.lookup import FOLDER

FILE = Path(__file__).parents[2] / "deploy" / "kustomize" / "gitops" / "ignore-differences.yaml"
DEPLOYMENT = ("paused", "strategy", "minReadySeconds", "progressDeadlineSeconds")
CLONE_SET = ("updateStrategy", "minReadySeconds", "scaleStrategy")
SCRIPT = "trafficRouting.lua"
"""Of a kind that is changed in place; classes of Ingresses get an object beside the owner's, which stays as it is."""

HEAD = """\
# During a release, Moonshift writes some fields of its objects; their values in Git are stored and restored at the
# end. With these snippets, GitOps tools do not report that as drift. Written by `make generate`.
#
# Flux's kustomize-controller compares by a dry-run apply. For workloads and Services, admission answers a dry run like
# a real apply, so they need nothing. Gateway objects and autoscalers of blue-green do not pass admission: give them the
# annotation kustomize.toolkit.fluxcd.io/ssa: IfNotPresent. Then Flux creates them and does not change them later (you
# apply their changes in Git yourself). Without it, Flux reverts them at each interval, and the release is held.
---
# Argo CD, for all applications; sync with the option RespectIgnoreDifferences=true.
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
  namespace: argocd
data:
"""
FLUX = """\
---
# Flux's helm-controller, in each HelmRelease with drift detection. It cannot check for an annotation, so gateway
# objects and autoscalers are ignored as a whole: leave out the targets that none of your Rollouts uses.
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: your-release
spec:
  driftDetection:
    mode: enabled
    ignore:
"""


class Ignored(NamedTuple):
    """Places of a kind that are Moonshift's while an object carries a mark."""

    group: str
    kind: str
    part: str
    """Where the mark is: annotations or labels."""
    mark: str
    places: tuple[tuple[str, ...], ...]


def fields_of(kind: WorkloadKind) -> tuple[str, ...]:
    """The fields of a workload's spec that a release writes."""
    match kind:
        case WorkloadKind.DEPLOYMENT:
            return DEPLOYMENT
        case WorkloadKind.CLONE_SET:
            return CLONE_SET
        case _:
            return ("updateStrategy",)


def ignored() -> Iterator[Ignored]:
    """Every kind that a release changes in place."""
    for group, kind in sorted(KNOWN_WORKLOADS):
        known = workload_kind(group, kind)
        assert known is not None
        places = tuple(("spec", field) for field in fields_of(known))
        yield Ignored(group, kind, "annotations", IN_PROGRESSING, places)
    pins = tuple(
        ("spec", "selector", label) for label in (POD_TEMPLATE_HASH, CONTROLLER_REVISION_HASH)
    )
    yield Ignored("", "Service", "labels", PINNED, pins)
    behavior = (("spec", "behavior"),)
    yield Ignored(
        "autoscaling", "HorizontalPodAutoscaler", "annotations", ORIGINAL_BEHAVIOR, behavior
    )
    for group, kind in routes():
        yield Ignored(group, kind, "annotations", ROUTE_STATE, (("spec",),))


def routes() -> list[tuple[str, str]]:
    """Group and kind of the packaged scripts that change an object in place."""
    paths = (path.relative_to(FOLDER).parts for path in FOLDER.glob(f"*/*/{SCRIPT}"))
    return sorted((group, kind) for group, kind, _ in paths)


def _jq(place: tuple[str, ...]) -> str:
    return "".join(f".{part}" if part.isalnum() else f'["{part}"]' for part in place)


def _argo() -> Iterator[str]:
    for one in ignored():
        yield f"  resource.customizations.ignoreDifferences.{one.group}_{one.kind}: |"
        yield "    jqPathExpressions:"
        for place in one.places:
            yield f'      - select(.metadata.{one.part}["{one.mark}"]) | {_jq(place)}'
    for kind in ("Mutating", "Validating"):
        group = "admissionregistration.k8s.io"
        yield f"  resource.customizations.ignoreDifferences.{group}_{kind}WebhookConfiguration: |"
        yield "    jqPathExpressions:"
        yield "      - .webhooks[].clientConfig"
        yield '      - .webhooks[].matchConditions[] | select(.name == "not-by-moonshift") | .expression'
    yield "  resource.customizations.ignoreDifferences.apiextensions.k8s.io_CustomResourceDefinition: |"
    yield "    jqPathExpressions:"
    yield '      - select(.spec.group == "rollouts.kruise.io") | .spec.conversion.webhook.clientConfig'


def _flux() -> Iterator[str]:
    for one in ignored():
        paths = ", ".join("/" + "/".join(place) for place in one.places)
        yield f"      - paths: [{paths}]"
        yield "        target:"
        if one.group:
            yield f"          group: {one.group}"
        yield f"          kind: {one.kind}"
        if one.part == "labels":
            yield f"          labelSelector: {one.mark}"
        elif one.mark == IN_PROGRESSING:
            yield "          labelSelector: rollouts.kruise.io/workload-type"


def text() -> str:
    """The whole file."""
    return (
        HEAD
        + "".join(f"{line}\n" for line in _argo())
        + FLUX
        + "".join(f"{line}\n" for line in _flux())
    )


def main() -> None:
    """Write the file."""
    FILE.write_text(text())


if __name__ == "__main__":
    main()
