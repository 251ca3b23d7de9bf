"""`gate test` with a packaged script that asks: a real worker runs it, and a real server is asked."""

import json
from pathlib import Path
from typing import Any

from tests.component.cli_gates.metrics import gate_test, source
from tests.component.cli_gates.test_gate_test import always, gate, written


def by_graphite(address: str, **fields: Any) -> dict[str, Any]:
    params = {"query": "errors.{{ service }}", "address": address}
    asked = {"script": "graphite", "params": params, **fields}
    return gate({"name": "errors", "success": {"max": 0.3}, "source": asked})


async def test_a_script_is_asked_and_its_value_is_judged(tmp_path: Path) -> None:
    async with source(always(None)) as server:
        where = written(tmp_path, by_graphite(server.address))
        ran = await gate_test("-f", where, "--arg", "canary.service=web", "-o", "json")
    assert ran.exit_code == 3, ran.output
    (metric,) = json.loads(ran.stdout)["gates"][0]["metrics"]
    assert (metric["value"], metric["reading"]) == (0.5, "Bad")
    assert metric["query"] == f"source graphite: GET {server.address}/render"


async def test_a_mistake_in_a_source_is_told_in_words(tmp_path: Path) -> None:
    where = written(tmp_path, by_graphite("http://127.0.0.1:1", script="grafite"))
    ran = await gate_test("-f", where, "--arg", "canary.service=web")
    assert ran.exit_code == 1
    assert "no script for source grafite" in " ".join(ran.output.split())
