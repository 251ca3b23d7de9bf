"""Running a packaged script on an original made up in a test."""

import json
from pathlib import Path
from typing import Any

import yaml

from protos.luaworker.v1 import luaworker_pb2 as pb
from tests.component.luaworker.process import Worker
from tests.unit.lua_configuration.cases import FOLDER, packaged, step_obj

Tree = dict[str, Any]
IN_VAIN = "no request of this step would reach the new version"
"""The words of a script that refuses a step whose copies no request can reach."""


def script_of(kind: str) -> Path:
    """The script of `group/Kind`."""
    return FOLDER / kind / "trafficRouting.lua"


def original_of(kind: str, spec: str | Tree, name: str = "web") -> Tree:
    """An object of the kind; its spec, or that as YAML."""
    group, _, last = kind.rpartition("/")
    return {
        "apiVersion": f"{group}/v1",
        "kind": last,
        "metadata": {"name": name, "namespace": "demo"},
        "spec": yaml.safe_load(spec) if isinstance(spec, str) else spec,
    }


async def run(
    worker: Worker,
    kind: str,
    spec: str | Tree,
    weight: float = -1,
    *,
    name: str = "web",
    **more: Any,
) -> pb.ExecuteResponse:
    """One call. `more` are keys of `obj`."""
    obj = step_obj(original_of(kind, spec, name), {}, 0, service="web", shared=False)
    obj |= {"canaryWeight": weight, "stableWeight": 100 - weight, **more}
    return await worker.run(packaged(script_of(kind)), json.dumps(obj), name=kind)


class Refused(AssertionError):
    """A script refused a step that a test expected to be carried out."""


async def answered(
    worker: Worker, kind: str, spec: str | Tree, weight: float = -1, **more: Any
) -> Tree:
    """The spec that a script gives; raises `Refused` with its words where it gives none."""
    answer = await run(worker, kind, spec, weight, **more)
    if answer.message:
        raise Refused(answer.message)
    found: Tree = json.loads(answer.result_json)["spec"]
    return found


async def refused(worker: Worker, kind: str, spec: str, weight: float = -1, **more: Any) -> str:
    """The text with which a script refuses."""
    answer = await run(worker, kind, spec, weight, **more)
    assert answer.code == pb.RUNTIME_ERROR
    return str(answer.message).partition(": ")[2]


def header(name: str, value: str, kind: str = "Exact") -> Tree:
    """A match on one header."""
    return {"headers": [{"type": kind, "name": name, "value": value}]}


def query(name: str, value: str, kind: str = "Exact") -> Tree:
    """A match on one query parameter."""
    return {"queryParams": [{"type": kind, "name": name, "value": value}]}


def path(value: str, kind: str = "PathPrefix") -> Tree:
    """A match on a path."""
    return {"path": {"type": kind, "value": value}}


def flat(spec: str) -> Any:
    """The value that a test expects, from YAML."""
    return yaml.safe_load(spec)
