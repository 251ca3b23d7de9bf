"""One kind, one selection, one store: read once, or kept up to date by a watch.

Invariant: both ways read the same selection into the same store, so that a live view starts where a single look ends.
"""

from collections.abc import Callable
from typing import Generic

import msgspec

from controller.api.decoding import shallow_reader_of
from controller.kube.client import KubeClient
from controller.kube.reflector import Reflector
from controller.kube.resources import Resource
from controller.kube.store import Store, V
from controller.kube.watch import read_page


class Source(Generic[V]):
    """Objects to read; `namespace` None means all namespaces."""

    def __init__(
        self,
        resource: Resource,
        store: Store[V],
        view: type[V],
        *,
        namespace: str | None,
        labels: str = "",
        fields: str = "",
        transform: Callable[[V], V] | None = None,
    ) -> None:
        self.resource = resource
        self.store = store
        self._view = view
        self._namespace = namespace
        self._labels = labels
        self._fields = fields
        self._transform = transform

    async def load(self, client: KubeClient) -> None:
        """Read everything once; objects with wrong types are left out. One that is nested too deeply is an error."""
        decode = shallow_reader_of(self._view)
        views: list[V] = []
        async for page in client.list_pages(
            self.resource, self._namespace, self._labels, self._fields
        ):
            for item in read_page(page).items or ():
                try:
                    view = decode(item)
                except msgspec.ValidationError:
                    continue
                views.append(view if self._transform is None else self._transform(view))
        self.store.replace_all(views)

    def reflector(
        self, client: KubeClient, notify: Callable[[], None] | None = None
    ) -> Reflector[V]:
        """The task that keeps the store up to date; `notify` is called when that ceases or begins to be possible."""
        return Reflector(
            client,
            self.resource,
            self.store,
            self._view,
            namespace=self._namespace,
            label_selector=self._labels,
            field_selector=self._fields,
            transform=self._transform,
            notify=notify,
        )


def named(name: str) -> str:
    """Field selector for one object."""
    return f"metadata.name={name}"
