"""Test cases of packaged scripts, in the documented format: a Rollout or TrafficRouting, an original, what is expected.

A step's input is derived as the controller derives it: always from the original, never from the step before.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

FOLDER = Path(__file__).resolve().parents[3] / "lua_configuration"


class Case(NamedTuple):
    """One evaluation of one script."""

    script: Path
    name: str
    obj: dict[str, Any]
    expected: dict[str, Any]


def data_of(thing: dict[str, Any]) -> dict[str, Any]:
    """The part of an object that scripts see and return."""
    metadata = thing.get("metadata", {})
    parts = {key: metadata.get(key) for key in ("labels", "annotations")}
    return {"spec": thing["spec"]} | {key: value for key, value in parts.items() if value}


def step_obj(
    original: dict[str, Any],
    step: dict[str, Any],
    weight: int,
    *,
    service: str,
    shared: bool,
    labels: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The global `obj` of one step; a weight of -1 is a step without traffic."""
    metadata = original.get("metadata", {})
    obj: dict[str, Any] = {
        "data": data_of(original),
        "canaryWeight": weight,
        "stableWeight": 100 - weight,
        "stableService": service,
        "canaryService": service if shared else f"{service}-canary",
        "patchPodMetadata": {"labels": labels or {}, "annotations": {}},
        "object": {
            "apiVersion": original.get("apiVersion"),
            "kind": original.get("kind"),
            "name": metadata.get("name"),
            "namespace": metadata.get("namespace"),
        },
        "params": {},
    }
    for key in ("matches", "requestHeaderModifier"):
        if step.get(key) is not None:
            obj[key] = step[key]
    return obj


def _weight(step: dict[str, Any]) -> int:
    return int(step["traffic"].removesuffix("%")) if "traffic" in step else -1


def _steps(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The `obj` of every step."""
    if "rollout" in case:
        canary = case["rollout"]["spec"]["strategy"]["canary"]
        labels = canary.get("patchPodTemplateMetadata", {}).get("labels")
        return [
            step_obj(
                case["original"],
                step,
                _weight(step),
                service=canary["trafficRoutings"][0]["service"],
                shared=canary.get("disableGenerateCanaryService", False),
                labels=labels,
            )
            for step in canary["steps"]
        ]
    spec = case["trafficRouting"]["spec"]
    service = spec["objectRef"][0]["service"]
    weight = spec["strategy"].get("weight", -1)
    return [step_obj(case["original"], spec["strategy"], weight, service=service, shared=True)]


def cases() -> Iterator[Case]:
    """Every case of every packaged script."""
    for path in sorted(FOLDER.rglob("testdata/*.yaml")):
        script = path.parent.parent / "trafficRouting.lua"
        content = yaml.safe_load(path.read_text())
        steps = _steps(content)
        assert len(steps) == len(content["expected"]), path
        for number, (obj, expected) in enumerate(zip(steps, content["expected"], strict=True)):
            name = f"{script.parent.name}/{path.stem}[{number}]"
            yield Case(script, name, obj, data_of(expected))
