"""A small folder of scripts about a kind that nobody has."""

from pathlib import Path
from typing import Any

import yaml

GROUP, KIND = "gateway.example.com", "TrafficLane"
API = f"{GROUP}/v1"

SPLIT = """--@can weight
local lane = obj.data.spec.lanes[1]
local service = lane.services[1]
service.weight = obj.stableWeight
lane.services[2] = {name = obj.canaryService, weight = obj.canaryWeight}
return obj.data
"""


def lane(services: list[dict[str, Any]], **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": "shop", "namespace": "demo", **metadata},
        "spec": {"lanes": [{"path": "/", "services": services}]},
    }


ORIGINAL = lane([{"name": "shop", "weight": 100}])


def rollout(*steps: dict[str, Any], **canary: Any) -> dict[str, Any]:
    """A v1beta1 Rollout that leads traffic with the lane."""
    entry = {
        "service": "shop",
        "customNetworkRefs": [{"apiVersion": API, "kind": KIND, "name": "shop"}],
    }
    strategy = {"steps": list(steps), "trafficRoutings": [entry], **canary}
    return {
        "apiVersion": "rollouts.kruise.io/v1beta1",
        "kind": "Rollout",
        "metadata": {"name": "shop", "namespace": "demo"},
        "spec": {"strategy": {"canary": strategy}},
    }


def split(share: int) -> dict[str, Any]:
    """The lane as `SPLIT` leaves it."""
    services = [{"name": "shop", "weight": 100 - share}, {"name": "shop-canary", "weight": share}]
    return lane(services)


def make_folder(root: Path, script: str = SPLIT, **cases: dict[str, Any]) -> Path:
    """`root` with the script and its cases; the script's path."""
    place = root / GROUP / KIND
    (place / "testdata").mkdir(parents=True)
    (place / "trafficRouting.lua").write_text(script)
    for name, content in cases.items():
        (place / "testdata" / f"{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return place / "trafficRouting.lua"


def case(*steps: dict[str, Any], expected: list[Any], **more: Any) -> dict[str, Any]:
    return {"rollout": rollout(*steps), "original": ORIGINAL, "expected": expected, **more}
