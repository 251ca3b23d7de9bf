"""`gate test` with scripts that ask, packaged and own ones: a real worker runs it, and a real server is asked."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.component.cli.double import cluster
from tests.component.cli_gates.metrics import gate_test, source
from tests.component.cli_gates.test_gate_test import always, gate, live_rollout, written


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


OWN = """--@does source
--@asks http
--@secrets token
--@params address
if not obj.answers then
    local bearer = "Bearer " .. obj.secrets.token
    return {ask = {{url = obj.params.address .. "/page.json", headers = {Authorization = bearer}}}}
end
return {value = json.decode(obj.answers[1].body).rate}
"""


def by_own(address: str, **fields: Any) -> dict[str, Any]:
    secrets = {"token": {"name": "mine", "key": "token"}}
    asked = {"script": "mine", "params": {"address": address}, "secrets": secrets, **fields}
    return gate({"name": "rate", "success": {"max": 0.3}, "source": asked})


def config_map(name: str = "kruise-rollout-configuration") -> dict[str, Any]:
    data = {"lua.source.mine": OWN}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def own_secret(send_to: str = "127.0.0.1") -> dict[str, Any]:
    metadata = {"name": "mine", "annotations": {"moonshift.dev/send-to": send_to}}
    text = {"token": "mine-alone"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": text}


async def test_a_script_and_a_secret_of_the_files_are_used(tmp_path: Path) -> None:
    async with source(always(None)) as server:
        where = written(tmp_path, by_own(server.address), config_map(), own_secret())
        ran = await gate_test("-f", where, "-o", "json")
    assert ran.exit_code == 0, ran.output
    (metric,) = json.loads(ran.stdout)["gates"][0]["metrics"]
    assert metric["value"] == 0.25
    assert [sent["Authorization"] for *_, sent in server.asked] == ["Bearer mine-alone"]
    assert "mine-alone" not in ran.output


async def test_a_script_of_the_namespace_is_used_if_it_is_among_the_files(tmp_path: Path) -> None:
    account = {"name": "scripts", "serviceAccountName": "gates"}
    async with source(always(None)) as server:
        named = by_own(server.address, scriptRef=account)
        ran = await gate_test(
            "-f", written(tmp_path, named, config_map("scripts"), own_secret()), "-o", "json"
        )
    assert ran.exit_code == 0, ran.output


async def test_a_secret_of_the_files_is_sent_only_where_it_says(tmp_path: Path) -> None:
    async with source(always(None)) as server:
        where = written(tmp_path, by_own(server.address), config_map(), own_secret("other.example"))
        ran = await gate_test("-f", where)
    assert ran.exit_code == 1
    assert "Secret default/mine names other hosts than 127.0.0.1" in " ".join(ran.output.split())
    assert not server.asked


async def test_what_the_files_lack_is_named_with_the_way_to_give_it(tmp_path: Path) -> None:
    where = written(tmp_path, by_own("http://127.0.0.1:1"))
    ran = await gate_test("-f", where)
    assert "give the ConfigMap kruise-rollout-configuration with -f, too" in " ".join(
        ran.output.split()
    )
    where = written(tmp_path, by_own("http://127.0.0.1:1"), config_map())
    ran = await gate_test("-f", where)
    assert "Secret default/mine is not read here: give its manifest with -f, too" in " ".join(
        ran.output.split()
    )


async def test_scripts_of_the_cluster_are_used_where_a_cluster_is_at_hand(tmp_path: Path) -> None:
    async with cluster(tmp_path, live_rollout()) as api, source(always(None)) as server:
        api.collections["/api/v1/namespaces/kruise-rollout/configmaps"] = [config_map()]
        data = {"token": base64.b64encode(b"of the cluster").decode()}
        secret = {"metadata": own_secret()["metadata"], "data": data}
        api.collections["/api/v1/namespaces/default/secrets"] = [secret]
        file = written(tmp_path, by_own(server.address))
        ran = await api.run("gate", "test", "-f", file, "--from-rollout", "web", "-o", "json")
    assert ran.exit_code == 0, ran.output
    assert [sent["Authorization"] for *_, sent in server.asked] == ["Bearer of the cluster"]
