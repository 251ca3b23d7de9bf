"""Labels and annotations by which a tool claims an object, so a copy of the object must not have them.

Why it exists: such a tool deletes every object that it claims and that its source does not contain. A canary Service
with the label `applyset.kubernetes.io/part-of` was deleted by the next `kubectl apply --prune`, while a route named it.
Invariant: pure; only marks that one object has for itself. Labels that people select by are no claims.
"""

_PREFIXES = (
    "kubectl.kubernetes.io/",
    "argocd.argoproj.io/",
    "notifications.argocd.argoproj.io/",
    "argocd-image-updater.argoproj.io/",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
    "reconcile.fluxcd.io/",
    "fluxcd.io/",
    "meta.helm.sh/",
    "helm.sh/",
    "applyset.kubernetes.io/",
    "kapp.k14s.io/",
    "objectset.rio.cattle.io/",
    "config.k8s.io/",
    "config.kubernetes.io/",
    "internal.config.kubernetes.io/",
    "configmanagement.gke.io/",
    "configsync.gke.io/",
    "addonmanager.kubernetes.io/",
    "hnc.x-k8s.io/",
    "work.karmada.io/",
)
"""Apply with pruning (kubectl), Argo CD, Flux, Helm, kapp, Rancher Fleet and k3s, kpt, Config Sync, the addon manager,
hierarchical namespaces, Karmada."""
_NAMES = frozenset({"app.kubernetes.io/instance"})
"""Argo CD's default tracking label."""


def is_claim(mark: str) -> bool:
    """Whether a tool recognises objects of its own by this label or annotation."""
    return mark in _NAMES or mark.startswith(_PREFIXES)


_OF_ONE_OBJECT = ("rollouts.kruise.io/", "moonshift.dev/", "app.kubernetes.io/managed-by")


def inherited(labels: dict[str, str]) -> dict[str, str]:
    """The labels of an owner that an object made for it has as well: policies ask for them (team, cost centre)."""
    return {
        name: value
        for name, value in labels.items()
        if not is_claim(name) and not name.startswith(_OF_ONE_OBJECT)
    }
