"""`simulate` says what the API server would refuse, for a gateway kind whose published schema is packaged.

Every kind is in `tests/unit/lua_configuration/test_published_schemas.py`; here a few go the whole way.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.cli.simulation.gateway_kinds import schema_of
from tests.component.cli_simulation.test_simulate import SERVICE, rollout, simulate, workload
from tests.unit.lua_configuration.cases import FOLDER

NUMBERS = """
local lists = 0
for _, field in pairs(obj.data.spec) do
  if type(field) == "table" and #field > 0 then
    lists = lists + 1
    table.insert(field, 12.5)
  end
end
if lists == 0 then
  for name in pairs(obj.data.spec) do obj.data.spec[name] = 12.5 end
end
if obj.canaryWeight == 20 then return obj.data end
"""
"""A script that puts a number into every list of the spec, or in place of every field of a spec without lists."""


def owned(kind: str) -> Any:
    """The object of the first documented case of a kind that has a schema."""
    for file in sorted((FOLDER / kind / "testdata").glob("*.yaml")):
        found = yaml.safe_load(file.read_text())["original"]
        if schema_of(found["apiVersion"], found["kind"]):
            return {**found, "metadata": {"name": "web", "namespace": "demo"}}
    raise AssertionError(f"no case of {kind} is in a version with a schema")


@pytest.mark.parametrize(
    "kind",
    ["kuma.io/MeshHTTPRoute", "split.smi-spec.io/TrafficSplit", "cis.f5.com/VirtualServer"],
)
def test_a_number_where_the_kind_has_an_object_is_said(kind: str, tmp_path: Path) -> None:
    group, _, name = kind.rpartition("/")
    route = owned(kind)
    scripts = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kruise-rollout-configuration"},
        "data": {f"lua.traffic.routing.{name}.{group}": NUMBERS},
    }
    reference = {key: route[key] for key in ("apiVersion", "kind")}
    plan = rollout(customNetworkRefs=[{**reference, "name": "web", "script": "configMap"}])
    result = simulate(tmp_path, plan, workload(), SERVICE, route, scripts)
    said = " ".join(result.output.split())
    assert result.exit_code == 1
    assert f'{name}.{group} "web" is invalid: spec.' in said
    assert "Invalid value: must be of type" in said
