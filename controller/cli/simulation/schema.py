"""Objects of files, judged by the schemas of our kinds as an API server would judge them.

Invariant: the parts that every object has are not described by the schema of its kind, and not judged.
"""

from controller.api.jsontree import JsonObject, text
from controller.api.schema import problems
from controller.kube.packaged_schemas import schema_of

OPEN = ("apiVersion", "kind", "metadata")
"""Parts of every object that are not described by the schema of its kind."""


def schema_problems(obj: JsonObject) -> tuple[str, ...]:
    """The API server's refusals of an object of our kinds; nothing for any other kind."""
    schema = schema_of(text(obj, "apiVersion"), text(obj, "kind"))
    if not schema:
        return ()
    described = {name: value for name, value in obj.items() if name not in OPEN}
    return problems(described, schema)
