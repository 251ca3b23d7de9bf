"""Field rules of a Rollout that the schema cannot express and that its author should see at once.

Invariant: pure and total; every finding names the field as it is called in the version that was written. Rollouts that
the original accepts are accepted, except for those that `docs` list: ReplicaSets, and a gateway route that has to tell
two revisions apart by one Service. The existence of objects is not checked at admission: they may be created later.
"""

from controller.api.jsontree import JsonObject, child, text
from controller.api.names import V1ALPHA1
from controller.api.validation.findings import Findings
from controller.api.validation.rules import DEFAULT_RULES, Rules
from controller.api.validation.spec import validate_spec
from controller.api.validation.v1alpha1 import validate_v1alpha1


def validate(obj: JsonObject, rules: Rules = DEFAULT_RULES) -> Findings:
    """All findings about a Rollout (raw JSON, either version)."""
    if text(obj, "apiVersion") == V1ALPHA1:
        return validate_v1alpha1(obj, rules)
    return validate_spec(child(obj, "spec"), rules, lowest_traffic=1)
