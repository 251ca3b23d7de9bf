"""`deploy/argocd/argocd-cm.yaml`, generated from the scripts beside it by `python -m tests.gitops.argocd`.

Invariant: the ConfigMap holds the very scripts that the tests run.
"""

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "deploy" / "argocd"
FILE = FOLDER / "argocd-cm.yaml"
ACTIONS = ("approve", "pause", "resume", "retry")
HEAD = """# Argo CD's ConfigMap with what it has to know of Rollouts and TrafficRoutings: merge it into your argocd-cm.
#   kubectl patch configmap argocd-cm -n argocd --patch-file deploy/argocd/argocd-cm.yaml
# Written by `make generate` from the scripts in this folder.
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
  namespace: argocd
data:
"""


def script(name: str) -> str:
    """One of the scripts."""
    return (FOLDER / f"{name}.lua").read_text()


def config_map() -> str:
    """The whole file."""
    health = _indented(script("health"), 4)
    parts = [
        f"  resource.customizations.health.rollouts.kruise.io_{kind}: |\n{health}"
        for kind in ("Rollout", "TrafficRouting")
    ]
    return HEAD + "".join(parts) + _actions()


def _actions() -> str:
    lines = ["  resource.customizations.actions.rollouts.kruise.io_Rollout: |\n"]
    lines += ["    discovery.lua: |\n", _indented(script("actions/discovery"), 6)]
    lines.append("    definitions:\n")
    for name in ACTIONS:
        lines += [f"      - name: {name}\n", "        action.lua: |\n"]
        lines.append(_indented(script(f"actions/{name}"), 10))
    return "".join(lines)


def _indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" if line else "\n" for line in text.splitlines())


def main() -> None:
    """Write the file."""
    FILE.write_text(config_map())


if __name__ == "__main__":
    main()
