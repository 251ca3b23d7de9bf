"""The name by which people know a revision: the images of its pods."""

from controller.api.jsontree import JsonObject, child, items, text


def images_of(template: JsonObject) -> str:
    """The images of a pod template, in order; empty if it names none."""
    containers = items(child(template, "spec"), "containers")
    found = [text(child(container), "image") for container in containers]
    return ", ".join(dict.fromkeys(filter(None, found)))
