"""Manifests of the source articles, as printed but for the repairs that docs/articles.md lists."""

from pathlib import Path

ARTICLE = """
apiVersion: rollouts.kruise.io/v1alpha1
kind: Rollout
metadata:
  name: rollouts-demo
  annotations:
    rollouts.kruise.io/rolling-style: canary
spec:
  disabled: false
  objectRef:
    workloadRef:
      apiVersion: apps/v1
      kind: Deployment
      name: nginx-deployment
  strategy:
    canary:
      steps:
      - weight: 20 # The first batch forwards 20% of the traffic to pods in the new version.
      - replicas: 1 # The second batch forwards traffic with header version=canary to pods in the new version.
        matches:
        - headers:
          - type: Exact
            name: version
            value: canary
      trafficRoutings:
      - service: nginx-service # The service used by pods in the previous version.
        createCanaryService: false # Do not create a new canary service. The new and old pods share the same service.
        networkRefs: # The gateway resource to be modified.
        - apiVersion: networking.istio.io/v1alpha3
          kind: VirtualService
          name: nginx-vs
        - apiVersion: networking.istio.io/v1beta1
          kind: DestinationRule
          name: nginx-dr
      patchPodTemplateMetadata: # Add the version=canary label to pods in the new version.
        labels:
          version: canary
"""
ARTICLE_SCRIPT = """\
--- Define a Lua script.
local spec = obj.data.spec
local canary = {}
canary.labels = {}
canary.name = "canary"
for k, v in pairs(obj.patchPodMetadata.labels) do
    canary.labels[k] = v
end
table.insert(spec.subsets, canary)
return obj.data
"""
"""The script of the same article, for DestinationRules."""
ROUTE_OF_THE_GATEWAY_API = """
apiVersion: rollouts.kruise.io/v1alpha1
kind: Rollout
metadata:
  name: rollouts-demo-route
spec:
  objectRef:
    workloadRef:
      apiVersion: apps/v1
      kind: Deployment
      name: echoserver
  strategy:
    canary:
      steps:
      - weight: 20
        pause: {}
      trafficRoutings:
      - service: echoserver
        gateway:
          httpRouteName: echoserver
"""
BATCHES_OF_A_STATEFUL_SET = """
apiVersion: rollouts.kruise.io/v1alpha1
kind: Rollout
metadata:
  name: rollouts-demo-batches
spec:
  objectRef:
    workloadRef:
      apiVersion: apps/v1
      kind: StatefulSet
      name: echoserver
  strategy:
    canary:
      steps:
      - replicas: 1
        pause: {}
      - replicas: 2
        pause: {duration: 60}
      - replicas: 2
  # required
  rolloutID: v1
"""
PRACTICE = Path(__file__).parents[1] / "examples" / "istio-canary"
"""The folder of the article's practice: the Rollout, the application, the scripts."""
ECHOSERVER = """
apiVersion: apps/v1
kind: %s
metadata:
  name: echoserver
spec:
  replicas: 5
  selector:
    matchLabels: {app: echoserver}
  template:
    metadata:
      labels: {app: echoserver}
    spec:
      containers:
      - {name: echoserver, image: "echoserver:1"}
---
apiVersion: v1
kind: Service
metadata:
  name: echoserver
spec:
  selector: {app: echoserver}
  ports:
  - {port: 80}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: HTTPRoute
metadata:
  name: echoserver
spec:
  rules:
  - backendRefs:
    - {name: echoserver, port: 80}
"""
"""The objects behind the Rollouts of the echoserver: a workload of some kind, its Service and its HTTPRoute."""


def practice() -> str:
    """All manifests of the practice in one text."""
    names = ("rollout.yaml", "app.yaml", "scripts-configmap.yaml")
    return "\n---\n".join((PRACTICE / name).read_text() for name in names)


ARTICLES = {
    "practice of Istio": practice(),
    "HTTPRoute": f"{ROUTE_OF_THE_GATEWAY_API}---\n{ECHOSERVER % 'Deployment'}",
    "batches of a StatefulSet": f"{BATCHES_OF_A_STATEFUL_SET}---\n{ECHOSERVER % 'StatefulSet'}",
}
"""Each article's Rollout with all that it leads."""
