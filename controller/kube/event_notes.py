"""The content of an Event about an object. It must do no I/O."""

import hashlib
from datetime import datetime
from typing import Literal

import msgspec

from controller.api.meta import ObjectMeta
from controller.kube.resources import Resource


class Note(msgspec.Struct, frozen=True):
    """One message about one object."""

    resource: Resource
    metadata: ObjectMeta
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    action: str
    told_at: datetime
    """The time of its first report."""

    @property
    def namespace(self) -> str:
        """The namespace of the Event; Events of cluster-scoped objects are in `default`."""
        return self.metadata.namespace or "default"

    @property
    def event_name(self) -> str:
        """The name of the Event: equal notes have equal names, and different notes different names."""
        content = "\0".join((self.metadata.uid, self.type, self.reason, self.action, self.message))
        digest = hashlib.sha256(f"{self.resource.name}\0{content}".encode()).hexdigest()[:16]
        return f"{self.metadata.name[:230].rstrip('.-')}.{digest}"
