"""Test cases of packaged scripts, in the documented format: a Rollout or TrafficRouting, an original, expected objects.

A step's input is derived as the controller derives it: always from the original, never from the step before.
"""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from controller.cli.script_tools.script_folders import subject_at
from controller.scripts.lookup import Script

FOLDER = Path(__file__).resolve().parents[3] / "lua_configuration"


@functools.cache
def packaged(path: Path) -> Script:
    """A packaged script with its modules."""
    return subject_at(path).read()


class Case(NamedTuple):
    """One evaluation of one script."""

    script: Path
    name: str
    obj: dict[str, Any]
    expected: dict[str, Any]
    refused: str = ""
    """Words of the refusal that is expected instead."""


def data_of(thing: dict[str, Any]) -> dict[str, Any]:
    """The part of an object that scripts see and return."""
    metadata = thing.get("metadata", {})
    parts = {key: metadata.get(key) for key in ("labels", "annotations")}
    parts["objects"] = thing.get("objects")
    return {"spec": thing["spec"]} | {key: value for key, value in parts.items() if value}


def compared(result: dict[str, Any]) -> dict[str, Any]:
    """A script's answer as cases write it: an empty list, an empty map and a missing field are equal."""
    objects = [
        {**item, "metadata": {key: value for key, value in item["metadata"].items() if value}}
        for item in result.get("objects") or []
    ]
    rest = {key: value for key, value in result.items() if key != "objects"}
    return rest | ({"objects": objects} if objects else {})


def step_obj(
    original: dict[str, Any],
    step: dict[str, Any],
    weight: float,
    *,
    service: str,
    shared: bool,
    labels: dict[str, str] | None = None,
    params: dict[str, Any] | None = None,
    namespace: str | None = None,
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
            "namespace": namespace or metadata.get("namespace"),
        },
        "params": params or {},
    }
    for key in ("matches", "requestHeaderModifier"):
        if step.get(key) is not None:
            obj[key] = step[key]
    return obj


def _weight(step: dict[str, Any]) -> float:
    if "traffic" not in step:
        return -1
    share = float(step["traffic"].removesuffix("%"))
    return int(share) if share.is_integer() else share


def _params(entry: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = entry["customNetworkRefs"][0].get("params", {})
    return found


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
                namespace=case["rollout"].get("metadata", {}).get("namespace"),
                labels=labels,
                params=_params(canary["trafficRoutings"][0]),
            )
            | {"siblings": case.get("siblings", [])}
            for step in canary["steps"]
        ]
    spec = case["trafficRouting"]["spec"]
    service = spec["objectRef"][0]["service"]
    weight = spec["strategy"].get("weight", -1)
    return [step_obj(case["original"], spec["strategy"], weight, service=service, shared=True)]


@functools.cache
def cases() -> tuple[Case, ...]:
    """Every case of every packaged script."""
    return tuple(_read())


def _read() -> Iterator[Case]:
    for path in sorted(FOLDER.rglob("testdata/*.yaml")):
        script = path.parent.parent / "trafficRouting.lua"
        content = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
        steps = _steps(content)
        assert len(steps) == len(content["expected"]), path
        for number, (obj, expected) in enumerate(zip(steps, content["expected"], strict=True)):
            name = f"{script.parent.name}/{path.stem}[{number}]"
            if not _asks(obj):
                continue
            if obj["canaryWeight"] == 0 and "\n--@announce\n" in script.read_text():
                # Proxies learn of Services from the object: a step of 0 % goes on naming the canary Service.
                obj["announce"] = True
            if "error" in expected:
                yield Case(script, name, obj, {}, expected["error"])
            else:
                yield Case(script, name, obj, data_of(expected))


def _asks(obj: dict[str, Any]) -> bool:
    """The controller calls no script for a step that says nothing about traffic."""
    return obj["canaryWeight"] >= 0 or bool(obj.get("matches"))


def answered_cases() -> list[Case]:
    """Those in which an answer is expected."""
    return [case for case in cases() if not case.refused]
