"""The schemas of our kinds, as they are installed: from the manifests of the package.

Invariant: read once, when they are first needed, because it takes half a second. A manifest that cannot be read is a
defect of the package.
"""

from functools import cache
from pathlib import Path

import yaml

from controller.api.jsontree import JsonObject, child, items, text

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "crds"


def schema_of(api_version: str, kind: str) -> JsonObject:
    """The schema of one of our kinds; empty for any other."""
    return _schemas().get((api_version, kind), {})


@cache
def _schemas() -> dict[tuple[str, str], JsonObject]:
    """By apiVersion and kind: the schema of every version of our CRDs."""
    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: dict[tuple[str, str], JsonObject] = {}
    for file in sorted(FOLDER.glob("*.yaml")):
        for crd in yaml.load_all(file.read_text(encoding="utf-8"), Loader=loader):
            group, kind = text(crd, "spec", "group"), text(crd, "spec", "names", "kind")
            for version in items(child(crd, "spec"), "versions"):
                place = f"{group}/{text(version, 'name')}", kind
                found[place] = child(version, "schema", "openAPIV3Schema")
    return found
