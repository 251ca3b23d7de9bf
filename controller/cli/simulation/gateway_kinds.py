"""The API server's refusals of gateway objects that a release writes, for kinds whose published schemas are packaged.

Why: a script's answer can be no object of its kind (a list that became an object, a weight that is no whole number),
and a simulation without an API server would call it well. Invariant: the owner's own text is not judged, because the
cluster may have another version of the CRD than the one here; only a mistake that the object did not have before is
one. Unknown fields and rules in CEL are left to the server. `localcluster.gateway_schemas` writes the schemas.
"""

import gzip
import re
from functools import cache
from pathlib import Path

from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject, child, text
from controller.api.schema import UNKNOWN_FIELD, problems
from controller.errors import Invalid
from controller.kube.resources import Resource

FOLDER = Path(__file__).parent / "gateway_schemas"
_PLACE = re.compile(r"\[\d+\]")


class PublishedSchemas:
    """Reviews what the simulated controller writes, as the real server would."""

    def review(self, resource: Resource, old: JsonObject | None, new: JsonObject) -> JsonObject:
        """The object to store. Raises Invalid for a mistake that is new."""
        known = {_PLACE.sub("[]", problem) for problem in _problems(old or {})}
        found = [each for each in _problems(new) if _PLACE.sub("[]", each) not in known]
        if found:
            named = f'{resource.kind}.{resource.group} "{text(new, "metadata", "name")}"'
            raise Invalid(f"{named} is invalid: {'; '.join(found)}", status=422, reason="Invalid")
        return new


def schema_of(api_version: str, kind: str) -> JsonObject:
    """The published schema of a kind's spec; empty if it is not packaged."""
    group, _, version = api_version.rpartition("/")
    return child(_versions(group, kind), version)


@cache
def _versions(group: str, kind: str) -> JsonObject:
    path = FOLDER / f"{group}.{kind}.json.gz"
    return (
        child(decoded(gzip.decompress(path.read_bytes()), dict), "versions")
        if path.exists()
        else {}
    )


def _problems(obj: JsonObject) -> list[str]:
    schema = schema_of(text(obj, "apiVersion"), text(obj, "kind"))
    if not schema or "spec" not in obj:
        return []
    found = problems(obj["spec"], schema)
    return [f"spec.{each}" for each in found if not each.startswith(UNKNOWN_FIELD)]
