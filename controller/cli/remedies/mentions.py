"""Names in a message of the controller or of the API server: a pod, a container, an object, a missing right.

Invariant: only characters of Kubernetes' names count as a name, so that a found name is safe in a command. It must not
choose the commands.
"""

import re

from controller.cli.views.view import View
from controller.domain.rollout.trouble.serving_alone import NOBODY_WOULD_SERVE

_NAME = r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?"
_POD = re.compile(rf"\bpod ({_NAME}): ")
_CONTAINER = re.compile(rf"\bcontainer ({_NAME})\b")
_OBJECT = re.compile(rf"\b([A-Z][A-Za-z0-9]*) {_NAME}/({_NAME})")
_SUBJECT = re.compile(rf"^([A-Z][A-Za-z0-9]*)/({_NAME})\b")
_TEMPLATE = re.compile(rf"\b((?:Cluster)?AnalysisTemplate) ({_NAME}) does not exist")
_SELECTING = re.compile(rf"\bService {_NAME}/({_NAME}): its selector \S+ matches none of ")
_GROUP = re.compile(r"\b([a-z0-9-]+(?:\.[a-z0-9-]+)+)/v[0-9]")
_KEY = re.compile(r"\bkey ([A-Za-z0-9.-]+) of ConfigMap\b")
_OWN_CONFIG_MAP = re.compile(rf"\bConfigMap {_NAME}/({_NAME})")
_GRANTS = re.compile(
    rf"\bkubectl create (?:cluster)?role(?:binding)? {_NAME}(?: -n {_NAME})?(?: --verb=[a-z,]+ --resource={_NAME}"
    rf"| --(?:cluster)?role={_NAME} --serviceaccount={_NAME}:{_NAME})"
)
_DENIED = re.compile(
    rf'User "(?P<user>[^"]*)" cannot (?P<verb>[a-z]+) resource "(?P<resource>[a-z0-9/.-]+)"'
    rf'(?: in API group "(?P<group>(?:{_NAME})?)")?'
)


class Denied(View, frozen=True):
    """A right that the API server found missing. `resource` is spelled as kubectl takes it."""

    user: str
    verb: str
    resource: str


def pod(message: str) -> str:
    """The pod that a message is about; empty if it names none."""
    found = _POD.search(message)
    return found[1] if found is not None else ""


def container(message: str) -> str:
    """The container that a message is about; empty if it names none."""
    found = _CONTAINER.search(message)
    return found[1] if found is not None else ""


def named(message: str) -> tuple[str, str] | None:
    """Kind and name of the first object, written `Kind namespace/name`, or `Kind/name` at the beginning."""
    found = _SUBJECT.search(message) or _OBJECT.search(message)
    return (found[1], found[2]) if found is not None else None


def template(message: str) -> tuple[str, str] | None:
    """Kind and name of the template of a gate that does not exist."""
    found = _TEMPLATE.search(message)
    return (found[1], found[2]) if found is not None else None


def group(message: str) -> str:
    """The API group of the first `group/version`; empty if there is none."""
    found = _GROUP.search(message)
    return found[1] if found is not None else ""


def denied(message: str) -> Denied | None:
    """The missing right; None if the refusal came from an admission plugin, or there is none."""
    found = _DENIED.search(message)
    if found is None:
        return None
    resource, slash, part = found["resource"].partition("/")
    return Denied(
        user=found["user"],
        verb=found["verb"],
        resource=".".join(filter(None, (resource, found["group"]))) + slash + part,
    )


def selecting_nothing(message: str) -> str | None:
    """The Service whose selector matches none of the ready pods; None if the message is about something else."""
    found = _SELECTING.search(message)
    return found[1] if found is not None else None


def new_pods_are_missed(message: str) -> bool:
    """The Service selects no new pod, so going back to the old ones helps."""
    return " matches none of the new pods" in message


def stable_pods_are_missed(message: str) -> bool:
    """No pod of the old version is ready."""
    return message.startswith("no pod of the stable revision ")


def nobody_would_serve(message: str) -> bool:
    """Another template came while the pods of the release so far serve alone."""
    return NOBODY_WOULD_SERVE in message


def quota(message: str) -> bool:
    """Whether the message says that a quota is full."""
    return "exceeded quota" in message


def nothing_made(message: str) -> bool:
    """Pods are missing that were never made."""
    return " 0 made, " in message


def script_key(message: str) -> str:
    """The key of the ConfigMap of scripts; empty if none is named."""
    found = _KEY.search(message)
    return found[1] if found is not None else ""


def own_config_map(message: str) -> str:
    """The ConfigMap of the Rollout's namespace that the script is in; empty if it is in none."""
    found = _OWN_CONFIG_MAP.search(message)
    return found[1] if found is not None else ""


def grants(message: str) -> tuple[str, ...]:
    """The commands that give a ServiceAccount a right, as the message says them."""
    return tuple(_GRANTS.findall(message))


def absent(message: str) -> bool:
    """The ConfigMap of scripts is not there."""
    return message.endswith("which does not exist")


def crashed(message: str) -> bool:
    """Whether the message says that a container ended with an error."""
    return " ends with exit code " in message


def ending(message: str) -> bool:
    """Whether the release is ending, so that a rollback is no longer possible."""
    return "the end of the release (" in message
