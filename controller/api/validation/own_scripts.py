"""Rules of `scriptRef`: a script in a ConfigMap of the namespace, and the ServiceAccount with whose rights it acts.

Why here as well as in the schema: a v1alpha1 object may carry the field in an annotation, which no schema checks.
Each name becomes a part of a request's address, so it must have the form of a name.
"""

import re
from collections.abc import Iterator

from controller.api.jsontree import JsonObject, child, items, text
from controller.api.validation.findings import Fault, FieldError, Findings
from controller.api.validation.workload import workload_group_kind

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_SECRET = ("", "Secret")


def check_own_scripts(entry: JsonObject, place: str) -> Findings:
    """The findings about an entry of `trafficRoutings` (or `objectRef`) at `place`."""
    return tuple(
        finding
        for index, reference in enumerate(map(child, items(entry, "customNetworkRefs")))
        if reference.get("scriptRef") is not None
        for finding in _check(reference, f"{place}.customNetworkRefs[{index}]")
    )


def _check(reference: JsonObject, place: str) -> Iterator[FieldError]:
    path = f"{place}.scriptRef"
    if text(reference, "script"):
        detail = "script chooses among the scripts of all namespaces: leave it out beside scriptRef"
        yield FieldError(f"{place}.script", Fault.FORBIDDEN, detail)
    if workload_group_kind(reference) == _SECRET:
        yield FieldError(path, Fault.FORBIDDEN, "a Secret leads no traffic and is never read")
    named = [("name", "the ConfigMap with the script")]
    named += [("serviceAccountName", "the ServiceAccount with whose rights the script acts")]
    for field, what in named:
        value = text(reference, "scriptRef", field)
        if not value:
            yield FieldError(f"{path}.{field}", Fault.REQUIRED, f"names {what}")
        elif not _NAME.fullmatch(value):
            yield FieldError(f"{path}.{field}", Fault.INVALID, f"{value!r} is no name of an object")
    key = child(reference, "scriptRef").get("key")
    if key is not None and not (isinstance(key, str) and _KEY.fullmatch(key)):
        yield FieldError(f"{path}.key", Fault.INVALID, f"{key!r} is no key of a ConfigMap")
