"""The seams to the API client and to the script library."""

import json
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from controller.api.meta import Key
from controller.domain.availability import Failing, Forbidden, Unavailable
from controller.domain.decision import OwnScript, Reference
from controller.effects.gateways import ConfiguredScripts, KubeGatewayObjects, Scope
from controller.errors import Conflict, NotFound
from controller.kube.resources import Resource
from controller.scripts.lookup import MissingScript, Script, ScriptLibrary

VS = Reference("networking.istio.io/v1", "VirtualService", "web", "web", "web-canary")
SERVED = Resource("networking.istio.io", "v1", "virtualservices", "VirtualService")


class Kube:
    """Serves the kinds in `kinds`, and returns every write unchanged."""

    def __init__(self) -> None:
        self.kinds: dict[tuple[str, str], Resource] = {(VS.api_version, VS.kind): SERVED}
        self.created: list[bytes] = []
        self.tried: list[bytes] = []
        self.deleted: list[tuple[str, str]] = []
        self.made: tuple[bytes, ...] = ()
        self.wrote_: list[tuple[str, Key, str]] = []
        self.patches: list[list[Mapping[str, object]]] = []
        self.taken = 0
        self.objects = b""

    async def served(self, api_version: str, kind: str) -> Resource | None:
        return self.kinds.get((api_version, kind))

    async def create(
        self, resource: Resource, namespace: str, body: bytes, *, dry_run: bool = False
    ) -> bytes:
        (self.tried if dry_run else self.created).append(body)
        return body

    async def delete(self, resource: Resource, namespace: str, name: str, uid: str) -> None:
        if name == "gone":
            raise NotFound("gone", status=404)
        self.deleted.append((name, uid))

    async def made_for(
        self, kind: tuple[str, str], resource: Resource, namespace: str, rollout_uid: str
    ) -> tuple[bytes, ...]:
        return self.made

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        return self.objects or f"{resource.name} {namespace}/{name}".encode()

    async def replace(
        self, resource: Resource, namespace: str, name: str, body: bytes, *, dry_run: bool = False
    ) -> bytes:
        if dry_run:
            self.tried.append(body)
        return body

    async def json_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        operations: Sequence[Mapping[str, object]],
    ) -> bytes:
        if self.taken:
            self.taken -= 1
            raise Conflict("somebody else wrote", status=422)
        self.patches.append([*operations])
        return b'{"metadata":{"name":"web","namespace":"demo","resourceVersion":"9"}}'

    def wrote(self, resource_name: str, key: Key, resource_version: str) -> None:
        self.wrote_.append((resource_name, key, resource_version))


async def test_a_kind_is_addressed_in_the_version_that_is_served() -> None:
    kube = Kube()
    objects = KubeGatewayObjects(kube, kube)
    assert await objects.scope(VS) is Scope.NAMESPACED
    assert await objects.read(VS, "demo") == b"virtualservices.networking.istio.io demo/web"
    gone = Reference("x/v1", "Y", "n", "s", "c")
    assert await objects.scope(gone) is None
    with pytest.raises(NotFound):
        await objects.read(gone, "demo")
    kube.kinds["x/v1", "Y"] = Resource("x", "v1", "ys", "Y", namespaced=False)
    assert await objects.scope(gone) is Scope.CLUSTER


async def test_a_dry_run_is_no_write_that_caches_have_to_show() -> None:
    kube = Kube()
    objects = KubeGatewayObjects(kube, kube)
    body = b'{"metadata":{"name":"web","namespace":"demo","resourceVersion":"7"}}'
    await objects.create(VS, "demo", body, dry_run=True)
    await objects.replace(VS, "demo", body, dry_run=True)
    assert kube.tried == [body, body]
    assert kube.created == []
    assert kube.wrote_ == []


async def test_companion_objects_are_found_and_removed_by_kind() -> None:
    kube = Kube()
    kube.made = (b"{}",)
    objects = KubeGatewayObjects(kube, kube)
    body = b'{"metadata":{"name":"web-canary","namespace":"demo","resourceVersion":"7"}}'
    await objects.create(VS, "demo", body)
    assert kube.wrote_ == [(SERVED.name, Key("demo", "web-canary"), "7")]
    assert await objects.made_for(VS, "demo", "uid") == (b"{}",)
    assert await objects.made_for(Reference("x/v1", "Y", "n", "s", "c"), "demo", "uid") == ()
    await objects.remove(VS, "demo", "gone", "u1")
    await objects.remove(VS, "demo", "web-canary", "u2")
    assert kube.deleted == [("web-canary", "u2")]


async def test_every_write_is_reported_to_the_ledger() -> None:
    kube = Kube()
    body = json.dumps(
        {"metadata": {"name": "web", "namespace": "demo", "resourceVersion": "8"}}
    ).encode()
    assert await KubeGatewayObjects(kube, kube).replace(VS, "demo", body) == body
    assert kube.wrote_ == [(SERVED.name, Key("demo", "web"), "8")]


def name(found: Script | MissingScript) -> str:
    assert isinstance(found, Script)
    return f"{found.source}:{found.name}"


def test_references_find_their_scripts() -> None:
    library = ScriptLibrary({"networking.istio.io/VirtualService/trafficRouting.lua": b"return 1"})
    data: dict[str, str] = {}
    scripts = ConfiguredScripts(library, lambda: data)
    assert name(scripts.resolve(VS)).startswith("packaged:")
    configured = msgspec.structs.replace(VS, script="configMap")
    assert isinstance(scripts.resolve(configured), MissingScript)
    data["lua.traffic.routing.VirtualService.networking.istio.io"] = "return 2"
    data["lua.traffic.routing.ingress.nginx"] = "return 3"
    data["lua.traffic.routing.Endpoints.v1"] = "return 4"
    assert name(scripts.resolve(configured)).startswith("configMap:")
    packaged = msgspec.structs.replace(VS, script="packaged")
    assert name(scripts.resolve(packaged)).startswith("packaged:")
    ingress = Reference("networking.k8s.io/v1", "Ingress", "web", "s", "c", class_type="nginx")
    assert name(scripts.resolve(ingress)) == "configMap:lua.traffic.routing.ingress.nginx"
    core = Reference("v1", "Endpoints", "web", "s", "c")
    assert name(scripts.resolve(core)) == "configMap:lua.traffic.routing.Endpoints.v1"


MARKED = (
    b'{"metadata":{"name":"web","namespace":"demo","resourceVersion":"7",'
    b'"annotations":{"rollouts.kruise.io/original-spec-configuration":"{}","owner":"me"},"managedFields":'
    b'[{"manager":"kubectl"},{"manager":"moonshift"},{"manager":"x"},{"manager":"moonshift"}]},"spec":{"a":1}}'
)


async def test_marks_and_entries_of_ours_go_in_one_write_last_entry_first() -> None:
    kube = Kube()
    await KubeGatewayObjects(kube, kube).take_marks_off(VS, "demo", MARKED)
    assert [operation["path"] for operation in kube.patches[0]] == [
        "/metadata/resourceVersion",
        "/metadata/annotations/rollouts.kruise.io~1original-spec-configuration",
        "/metadata/managedFields/3",
        "/metadata/managedFields/1",
    ]
    assert kube.wrote_[-1][2] == "9"


async def test_an_object_without_marks_and_entries_is_not_written_again() -> None:
    kube = Kube()
    await KubeGatewayObjects(kube, kube).take_marks_off(VS, "demo", b'{"metadata":{"name":"web"}}')
    assert kube.patches == []


async def test_an_object_whose_status_was_written_in_between_is_read_again() -> None:
    kube = Kube()
    kube.taken = 1
    kube.objects = MARKED
    await KubeGatewayObjects(kube, kube).take_marks_off(VS, "demo", MARKED)
    assert len(kube.patches) == 1


async def test_marks_stay_on_an_object_whose_spec_was_written_in_between() -> None:
    kube = Kube()
    kube.taken = 1
    kube.objects = MARKED.replace(b'"a":1', b'"a":2')
    with pytest.raises(Conflict):
        await KubeGatewayObjects(kube, kube).take_marks_off(VS, "demo", MARKED)
    assert kube.patches == []


async def test_marks_stay_on_an_object_that_is_written_all_the_time() -> None:
    kube = Kube()
    kube.taken = 99
    kube.objects = MARKED
    with pytest.raises(Conflict):
        await KubeGatewayObjects(kube, kube).take_marks_off(VS, "demo", MARKED)
    assert kube.wrote_ == []


def test_a_reference_to_a_script_of_its_namespace_gets_that_one_or_none() -> None:
    key = "lua.traffic.routing.VirtualService.networking.istio.io"
    library = ScriptLibrary({"networking.istio.io/VirtualService/trafficRouting.lua": b"return 1"})
    maps: dict[Key, dict[str, str] | Unavailable] = {Key("other", "scripts"): {key: "return 9"}}
    scripts = ConfiguredScripts(library, lambda: {key: "return 2"}, maps.get)
    own = msgspec.structs.replace(VS, own_script=OwnScript("demo", "scripts", "router"))
    assert "demo/scripts, which scriptRef names, does not exist" in scripts.missing(own)
    maps[Key("demo", "scripts")] = Forbidden("no right")
    assert scripts.missing(own).endswith(
        "by a Role and a RoleBinding of the namespace (examples/own-script)"
    )
    maps[Key("demo", "scripts")] = Failing("away")
    assert scripts.missing(own).endswith("cannot be read: away")
    maps[Key("demo", "scripts")] = {key: "return 3"}
    assert name(scripts.resolve(own)) == f"configMap:{key} of ConfigMap demo/scripts"
    assert name(scripts.resolve(VS)).startswith("packaged:")
    unserved = ConfiguredScripts(library, lambda: None)
    assert "not read here" in unserved.missing(own)
