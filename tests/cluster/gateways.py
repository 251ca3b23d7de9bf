"""Gateway objects of five sorts for one application, the kinds they need, and the share in each of them.

The CRDs accept any spec: other tests check the real schemas. HTTPRoute is served only as v1beta1, as on a cluster
that was not upgraded yet.
"""

from collections.abc import Sequence

from localcluster.api import JsonObject
from localcluster.history import Key, Kind
from tests.cluster.invented import API_VERSION, crd, kind_of, scripts

INGRESSES = Kind("networking.k8s.io", "v1", "ingresses")
HTTP_ROUTES = Kind("gateway.networking.k8s.io", "v1beta1", "httproutes")
APISIX_ROUTES = Kind("apisix.apache.org", "v2", "apisixroutes")
LANES = kind_of("FairLane")

LANE_SCRIPT = """
--@name A lane that the test invented
--@can weight,subpercent,header
local share = obj.canaryWeight
if obj.matches then share = 100 end
for _, lane in ipairs(obj.data.spec.lanes) do
    if lane.service == obj.stableService then
        lane.only = obj.matches and obj.matches[1].headers[1].value or nil
        lane.canary, lane.share = obj.canaryService, share
    end
end
return obj.data
"""


def definition(group: str, kind: str, plural: str, versions: Sequence[str]) -> JsonObject:
    """A CRD that accepts any spec."""
    body = crd(kind)
    spec = body["spec"]
    body["metadata"]["name"] = f"{plural}.{group}"
    first = spec["versions"][0]
    spec |= {
        "group": group,
        "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
        "versions": [
            {**first, "name": version, "storage": number == 0}
            for number, version in enumerate(versions)
        ],
    }
    return body


DEFINITIONS = (
    # The API server protects this group: it requires the approval annotation.
    {
        **(route := definition(HTTP_ROUTES.group, "HTTPRoute", "httproutes", ["v1beta1"])),
        "metadata": {
            **route["metadata"],
            "annotations": {"api-approved.kubernetes.io": "unapproved, experimental-only"},
        },
    },
    definition(APISIX_ROUTES.group, "ApisixRoute", "apisixroutes", ["v2"]),
    crd("FairLane"),
)


def script_map() -> JsonObject:
    """The ConfigMap with the invented kind's script."""
    return scripts({"FairLane": LANE_SCRIPT})


def _object(api_version: str, kind: str, namespace: str, spec: JsonObject) -> JsonObject:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "shop", "namespace": namespace, "labels": {"team": "shop"}},
        "spec": spec,
    }


def owners(namespace: str) -> dict[Kind, JsonObject]:
    """The gateway objects of the owner, besides the VirtualService."""
    backend = {"name": "shop", "port": 80}
    paths = [
        {
            "path": path,
            "pathType": "Prefix",
            "backend": {"service": {"name": name, "port": {"number": 80}}},
        }
        for path, name in (("/admin", "admin"), ("/", "shop-public"))
    ]
    return {
        INGRESSES: _object(
            "networking.k8s.io/v1",
            "Ingress",
            namespace,
            {
                "ingressClassName": "nginx",
                "rules": [{"host": "h.example", "http": {"paths": paths}}],
            },
        ),
        HTTP_ROUTES: _object(
            "gateway.networking.k8s.io/v1beta1",
            "HTTPRoute",
            namespace,
            {
                "rules": [
                    {"backendRefs": [{"name": "admin", "port": 80}]},
                    {"backendRefs": [backend]},
                ]
            },
        ),
        APISIX_ROUTES: _object(
            "apisix.apache.org/v2",
            "ApisixRoute",
            namespace,
            {
                "http": [
                    {
                        "name": "shop",
                        "match": {"paths": ["/*"]},
                        "backends": [{"serviceName": "shop", "servicePort": 80}],
                    }
                ]
            },
        ),
        LANES: _object(
            API_VERSION, "FairLane", namespace, {"lanes": [{"service": "shop"}, {"service": "x"}]}
        ),
    }


def routings(grace: int = 1) -> list[JsonObject]:
    """Two entries; one of them has every sort of reference."""
    return [
        {
            "service": "shop",
            "gracePeriodSeconds": grace,
            "gateway": {"httpRouteName": "shop"},
            "customNetworkRefs": [
                {"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "name": "shop"},
                {"apiVersion": "apisix.apache.org/v2", "kind": "ApisixRoute", "name": "shop"},
                {
                    "apiVersion": API_VERSION,
                    "kind": "FairLane",
                    "name": "shop",
                    "script": "configMap",
                },
            ],
        },
        {
            "service": "shop-public",
            "gracePeriodSeconds": grace,
            "ingress": {"name": "shop", "classType": "nginx"},
        },
    ]


State = dict[Key, JsonObject]


def share_of(state: State, kind: Kind, namespace: str) -> object:
    """The new version's share in a gateway object; None if the object has none."""
    name = "shop-canary" if kind == INGRESSES else "shop"
    found = state.get(Key(kind, namespace, name))
    if found is None:
        return None
    if kind == INGRESSES:
        text = found["metadata"]["annotations"].get("nginx.ingress.kubernetes.io/canary-weight")
        return int(text) if text is not None else None
    spec = found["spec"]
    if kind == LANES:
        return spec["lanes"][0].get("share")
    if kind == HTTP_ROUTES:
        refs = [ref for rule in spec["rules"] for ref in rule["backendRefs"]]
        return _weights(refs, "name")
    if kind == APISIX_ROUTES:
        return _weights([ref for rule in spec["http"] for ref in rule["backends"]], "serviceName")
    entries = [entry for rule in spec["http"] for entry in rule["route"]]
    return _weights([{**entry, **entry["destination"]} for entry in entries], "host")


def _weights(entries: list[JsonObject], name: str) -> object:
    return {entry[name]: entry.get("weight") for entry in entries}.get("shop-canary")
