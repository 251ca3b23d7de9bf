"""The changes that the Helm chart makes in the text of the manifests, so that values decide.

Why it exists: each overlay of `deploy/kustomize` is a value of the chart, and this is the list of them. Invariant: with
the default values nothing is changed. It must do no I/O.
"""

NAMESPACE = "{{ .Release.Namespace }}"
CLUSTER_KINDS = frozenset(
    {
        "ClusterRole",
        "ClusterRoleBinding",
        "FlowSchema",
        "MutatingWebhookConfiguration",
        "Namespace",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    }
)
PART_OF = "app.kubernetes.io/part-of: moonshift"
SCRAPED = "    app.kubernetes.io/name: moonshift-controller\n  annotations:\n"
TRACKED = 'has "%s" (splitList "," .Values.trackConfig)'
OPTIONAL = {
    "cert-manager": ("cert-manager/certificate.yaml", ".Values.certManager"),
    "cert-manager-role": ("cert-manager/role.yaml", ".Values.certManager"),
    "gateways": ("gateways/clusterroles.yaml", ".Values.gateways"),
    "namespaced": ("namespaced/role.yaml", ".Values.watchNamespace"),
    "secure-metrics": ("secure-metrics/role.yaml", ".Values.metrics.secure"),
    "protect-steps": ("protect-steps/policy.yaml", ".Values.protectSteps"),
    "track-configmaps": ("track-config/configmaps/role.yaml", TRACKED % "configmaps"),
    "track-secrets": ("track-config/secrets/role.yaml", TRACKED % "secrets"),
}
"""Template → a component's file, beside the base, and the condition on which it is rendered."""
EVERYWHERE = {
    "namespace: kruise-rollout\n": f"namespace: {NAMESPACE}\n",
    "namespaces: [kruise-rollout]\n": f"namespaces: [{NAMESPACE}]\n",
    ".kruise-rollout.svc\n": f".{NAMESPACE}.svc\n",
    "[kube-system, kruise-rollout]": f"[kube-system, {NAMESPACE}]",
    "system:serviceaccount:kruise-rollout:": f"system:serviceaccount:{NAMESPACE}:",
}
"""Text → template, in every file."""
RENDERED_IF = "{{- if %s }}\n%s{{- end }}\n"
FIXED_USER = "        runAsUser: {0}\n        runAsGroup: {0}\n        fsGroup: {0}\n"
BUDGET = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: "
CALLED = """    - ports:
        - port: webhook
        - port: metrics
        - port: probes
"""
CALLED_BY_API_SERVERS = """    {{- if .Values.networkPolicy.apiServer.cidrs }}
    - from:
        {{- range .Values.networkPolicy.apiServer.cidrs }}
        - ipBlock:
            cidr: {{ . }}
        {{- end }}
      ports:
        - port: webhook
    - ports:
        - port: metrics
        - port: probes
    {{- else }}
"""
CALLS = """    - ports:
        - port: 443
        - port: 6443
        - port: 9090
        - port: 80
"""
CALLS_API_SERVERS = """    {{- if .Values.networkPolicy.apiServer.cidrs }}
    - to:
        {{- range .Values.networkPolicy.apiServer.cidrs }}
        - ipBlock:
            cidr: {{ . }}
        {{- end }}
      ports:
        {{- range .Values.networkPolicy.apiServer.ports }}
        - port: {{ . }}
        {{- end }}
    - to:
        - podSelector:
            matchLabels:
              app.kubernetes.io/name: moonshift-luaworker
      ports:
        - port: grpc
    {{- with .Values.networkPolicy.furtherEgress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- else }}
"""
ELSE_END = "    {{- end }}\n"


def _unless_openshift(user: int) -> dict[str, str]:
    """The cluster chooses the user if the value says so."""
    lines = FIXED_USER.format(user)
    return {lines: RENDERED_IF % ("not .Values.openshift", lines)}


ONCE: dict[str, dict[str, str]] = {
    "namespace.yaml": {"  name: kruise-rollout\n": f"  name: {NAMESPACE}\n"},
    "controller-policy.yaml": {"kube-system, kruise-rollout]": f"kube-system, {NAMESPACE}]"},
    "controller.yaml": {
        "  replicas: 2\n": "  replicas: {{ .Values.controller.replicas }}\n",
        **_unless_openshift(65532),
        "image: moonshift-controller\n": 'image: {{ include "moonshift.image" .Values.controller.image }}\n',
        "            - --shutdown-delay=6\n": "            - --shutdown-delay=6\n"
        "            {{- if .Values.watchNamespace }}\n"
        "            - --watch-namespace={{ .Values.watchNamespace }}\n"
        "            {{- end }}\n"
        "            {{- if " + TRACKED % "configmaps" + " }}\n"
        "            - --track-config=configmaps\n"
        "            {{- end }}\n"
        "            {{- if " + TRACKED % "secrets" + " }}\n"
        "            - --track-config=configmaps,secrets\n"
        "            {{- end }}\n"
        "            {{- with .Values.controller.extraArgs }}\n"
        "            {{- toYaml . | nindent 12 }}\n"
        "            {{- end }}\n"
        "            {{- if .Values.certManager }}\n"
        "            - --webhook-issued-secret=moonshift-webhook-tls\n"
        "            {{- end }}\n"
        "            {{- if .Values.metrics.secure }}\n"
        "            - --metrics-secure\n"
        "            {{- end }}\n",
    },
    "services.yaml": {
        SCRAPED: SCRAPED + "    {{- if .Values.metrics.secure }}\n"
        "    prometheus.io/scheme: https\n"
        "    {{- end }}\n",
    },
    "worker.yaml": {
        **_unless_openshift(65533),
        "image: moonshift-luaworker\n": 'image: {{ include "moonshift.image" .Values.worker.image }}\n',
    },
    "network-policies.yaml": {
        CALLED: CALLED_BY_API_SERVERS + CALLED + ELSE_END,
        CALLS: CALLS_API_SERVERS + CALLS + ELSE_END,
    },
    "availability.yaml": {
        # A budget of one pod out of one would hold every drain up.
        f"{BUDGET}kruise-rollout-controller-manager\n": "{{- if gt (int .Values.controller.replicas) 1 }}\n"
        f"{BUDGET}kruise-rollout-controller-manager\n",
        "      control-plane: controller-manager\n": "      control-plane: controller-manager\n{{- end }}\n",
        f"{BUDGET}moonshift-luaworker\n": "{{- if gt (int .Values.worker.minReplicas) 1 }}\n"
        f"{BUDGET}moonshift-luaworker\n",
        "      app.kubernetes.io/name: moonshift-luaworker\n": "      app.kubernetes.io/name: moonshift-luaworker\n"
        "{{- end }}\n",
        "  minReplicas: 2\n": "  minReplicas: {{ .Values.worker.minReplicas }}\n",
        "  maxReplicas: 10\n": "  maxReplicas: {{ .Values.worker.maxReplicas }}\n",
    },
}
"""File → text that is there exactly once → template."""
EVERYWHERE_BOUND = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\n"
"""Rights in all namespaces; where one is chosen they are bound in that one instead."""
SELECTED = "          values: [kube-system, {{ .Release.Namespace }}]\n"
UNSELECTED = "        scope: Namespaced\n    matchConditions:\n"
CHOSEN = """        - key: kubernetes.io/metadata.name
          operator: In
          values: [{{ .Values.watchNamespace }}]
"""
DENY = "  validationActions: [Deny]\n"
EACH = {
    "status-policy.yaml": {
        DENY: DENY
        + "  {{- if .Values.watchNamespace }}\n"
        + "  matchResources:\n    namespaceSelector:\n      matchExpressions:\n"
        + CHOSEN
        + "  {{- end }}\n",
    },
    "webhooks.yaml": {
        SELECTED: SELECTED
        + "        {{- if .Values.watchNamespace }}\n"
        + CHOSEN
        + "        {{- end }}\n",
        UNSELECTED: "        scope: Namespaced\n    {{- if .Values.watchNamespace }}\n    namespaceSelector:\n"
        "      matchExpressions:\n" + CHOSEN + "    {{- end }}\n    matchConditions:\n",
    },
    "services.yaml": {
        "spec:\n": "spec:\n  {{- with .Values.ipFamilyPolicy }}\n  ipFamilyPolicy: {{ . }}\n  {{- end }}\n",
    },
}
"""File → text that is there several times → template."""
BOUND = frozenset({"controller-role.yaml", "gateway-roles.yaml"})
"""Files of a role and its binding for all namespaces."""
WATCHED = "namespace: {{ .Values.watchNamespace }}\n"
RESOURCES = {"controller.yaml": "controller", "worker.yaml": "worker"}
