"""The examples of scripts in the articles work as printed (with their indentation restored)."""

from pathlib import Path
from typing import Any

import yaml

from controller.cli.script_tools.engine import Engine
from controller.cli.script_tools.script_folders import subjects_in
from controller.cli.script_tools.suite import Suite

SUBSET = """local spec = obj.data.spec -- Get the spec of the resource.
local canary = {}
canary.labels = {}
canary.name = "canary"
-- Loop over the pod label of the new version of the rollout configuration.
for k, v in pairs(obj.patchPodMetadata.labels) do
  canary.labels[k] = v
end
table.insert(spec.subsets, canary)
return obj.data
"""
MATCHES = """-- Lua 变量是按引用来传递的
spec = obj.data.spec -- get resource 'spec'
hosts = spec.hosts
canaryService = obj.canaryService
for _, match in ipairs(obj.matches or {}) do
end
ret = {}
ret.annotations = obj.data.annotations
ret.labels = obj.data.labels
ret.spec = spec
return ret
"""
ROLLOUT = """
apiVersion: rollouts.kruise.io/v1alpha1
kind: Rollout
metadata:
  name: rollouts-demo
  annotations:
    rollouts.kruise.io/rolling-style: canary
spec:
  disabled: false
  objectRef:
    workloadRef: {apiVersion: apps/v1, kind: Deployment, name: nginx-deployment}
  strategy:
    canary:
      steps:
      - weight: 20
      - replicas: 1
        matches:
        - headers:
          - {type: Exact, name: version, value: canary}
      trafficRoutings:
      - service: nginx-service
        createCanaryService: false
        networkRefs:
        - {apiVersion: networking.istio.io/v1alpha3, kind: VirtualService, name: nginx-vs}
        - {apiVersion: networking.istio.io/v1beta1, kind: DestinationRule, name: nginx-dr}
      patchPodTemplateMetadata:
        labels:
          version: canary
"""


def put(root: Path, kind: str, script: str, original: Any, expected: Any) -> None:
    folder = root / "networking.istio.io" / kind
    (folder / "testdata").mkdir(parents=True)
    (folder / "trafficRouting.lua").write_text(script)
    content = {"rollout": yaml.safe_load(ROLLOUT), "original": original, "expected": expected}
    (folder / "testdata" / "article.yaml").write_text(yaml.safe_dump(content))


async def test_the_subset_script_of_the_article(engine: Engine, tmp_path: Path) -> None:
    base = {"name": "version-base", "labels": {"version": "base"}}
    canary = {"name": "canary", "labels": {"version": "canary"}}
    original = {
        "apiVersion": "networking.istio.io/v1beta1", "kind": "DestinationRule",
        "metadata": {"name": "nginx-dr"}, "spec": {"host": "nginx-service", "subsets": [base]},
    }  # fmt: skip
    split = {"spec": {"host": "nginx-service", "subsets": [base, canary]}}
    put(tmp_path, "DestinationRule", SUBSET, original, [split, split])
    (report,) = await Suite(engine).run(subjects_in(tmp_path))
    assert [check.problem for check in report.checks] == ["", ""]


async def test_an_answer_of_ones_own_with_all_three_parts(engine: Engine, tmp_path: Path) -> None:
    content = {
        "metadata": {"name": "nginx-vs", "labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {"hosts": ["*"], "http": [{"route": [{"destination": {"host": "x"}}]}]},
    }
    original = {
        "apiVersion": "networking.istio.io/v1alpha3", "kind": "VirtualService", **content
    }  # fmt: skip
    put(tmp_path, "VirtualService", MATCHES, original, [content, content])
    (report,) = await Suite(engine).run(subjects_in(tmp_path))
    assert [check.problem for check in report.checks] == ["", ""]
