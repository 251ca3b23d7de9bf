"""Makes the Helm chart's templates from the manifests of `deploy/kustomize/base`.

Why it exists: two sets of manifests that are kept by hand become different. Invariant: with the default values the
chart renders the objects that `kubectl kustomize deploy/kustomize` renders; comments are kept. `python -m
demo.cluster.chart` writes the files. It must not add an object that the manifests or their components do not have.
"""

import re
from pathlib import Path

from demo.cluster.chart_changes import (
    BOUND,
    CLUSTER_KINDS,
    EACH,
    EVERYWHERE,
    EVERYWHERE_BOUND,
    NAMESPACE,
    ONCE,
    OPTIONAL,
    PART_OF,
    RENDERED_IF,
    RESOURCES,
    WATCHED,
)
from demo.stage import ROOT

BASE = ROOT / "deploy" / "kustomize" / "base"
CHART = ROOT / "deploy" / "helm" / "moonshift"
HEAD = "{{- /* Made from deploy/kustomize/base/%s by `python -m demo.cluster.chart`; not to be edited. */ -}}\n"
_RESOURCES = re.compile(r"^          resources:\n(?: {12,}.*\n)+", re.MULTILINE)
_METADATA = re.compile(
    r"^metadata:\n  name: (.+)\n(  namespace: .+\n)?(  labels:\n)?", re.MULTILINE
)


def templates() -> dict[Path, str]:
    """Return each template file with its text."""
    files = sorted(p for p in BASE.glob("*.yaml") if p.name != "kustomization.yaml")
    made = {CHART / "templates" / file.name: _template(file) for file in files}
    for name, (path, condition) in OPTIONAL.items():
        text = _adapted(BASE.parent / path).replace("namespace: shop\n", WATCHED)
        head = HEAD.replace("base/", "") % path
        made[CHART / "templates" / f"{name}.yaml"] = (
            f"{head}{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n"
        )
    return made


def _adapted(file: Path) -> str:
    """The file as the chart has it: namespaces and labels."""
    text = "---\n".join(_document(part) for part in file.read_text().split("---\n"))
    for old, new in EVERYWHERE.items():
        text = text.replace(old, new)
    return text


def _template(file: Path) -> str:
    text = _adapted(file)
    for old, new in ONCE.get(file.name, {}).items():
        if text.count(old) != 1:
            raise ValueError(f"{file.name}: {old!r} is there {text.count(old)} times, not once")
        text = text.replace(old, new)
    for old, new in EACH.get(file.name, {}).items():
        text = text.replace(old, new)
    if process := RESOURCES.get(file.name):
        values = f"{{{{- toYaml .Values.{process}.resources | nindent 12 }}}}"
        text = _RESOURCES.sub(f"          resources:\n            {values}\n", text)
    if file.name in BOUND:
        text = _unless_one_namespace(text)
    if file.name == "namespace.yaml":
        text = f"{{{{- if .Values.namespace.create }}}}\n{text}{{{{- end }}}}\n"
    return HEAD % file.name + text


def _unless_one_namespace(text: str) -> str:
    """The binding for all namespaces is left out if one namespace is chosen."""
    before, found, binding = text.partition(f"---\n{EVERYWHERE_BOUND}")
    if not found:
        raise ValueError("no ClusterRoleBinding after the role")
    return before + RENDERED_IF % ("not .Values.watchNamespace", found + binding)


def _document(text: str) -> str:
    """Add the fields that a kustomization adds to an object: its namespace and the label of the product."""
    kind = re.search(r"^kind: (\w+)$", text, re.MULTILINE)
    namespaced = kind is not None and kind[1] not in CLUSTER_KINDS
    where = f"  namespace: {NAMESPACE}\n" if namespaced else ""
    return _METADATA.sub(
        lambda found: (
            f"metadata:\n  name: {found[1]}\n{found[2] or where}  labels:\n    {PART_OF}\n"
        ),
        text,
        1,
    )


if __name__ == "__main__":
    for path, content in templates().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
