"""The subject of a refused request: the right that is missing, or the write that a webhook left unanswered.

Why here: every request passes `ControllerApi`, those of the classes of kr8s as well, so every refusal names its right.
Invariant: it is read from the request's own path; nothing is asked for.
"""

from urllib.parse import unquote

from controller.errors import ApiError, Forbidden, Right, WebhookFailed

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def name_what_was_asked(
    refused: ApiError, method: str, version: str, namespace: str | None, path: str
) -> None:
    """Complete a refusal of a request for `path` below a namespace of an API version."""
    if not isinstance(refused, Forbidden | WebhookFailed):
        return
    plural, _, rest = path.partition("/")
    name, _, subresource = rest.partition("/")
    verb = _VERBS.get(method) or ("get" if name else "list")
    group = version.rpartition("/")[0]
    place = unquote(namespace or "")
    right = Right(verb, group, plural, subresource, place, unquote(name))
    if isinstance(refused, Forbidden):
        refused.right = right
    else:
        kind = f"{plural}.{group}" if group else plural
        refused.request = f"{verb} {kind} {place}/{right.name}".rstrip("/ ")
