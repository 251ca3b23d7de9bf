"""The pages in docs/gateways/: a whole example for each kind and class, with the script's output at each step.

`python -m tests.unit.lua_configuration.gateway_pages` writes them. Invariant: an example is the release that
`tests/cluster/test_every_kind.py` applies to a control plane, with the very objects that it expects there; nothing here
is written by hand but the words between.
"""

from collections.abc import Iterator
from pathlib import Path

import yaml

from controller.domain.traffic.plan.header import parse_header
from controller.scripts.lookup import FOLDER
from localcluster.api import JsonObject
from tests.cluster import manifests
from tests.cluster.packaged import Sample, samples

FOLDER_OF_PAGES = FOLDER.parent / "docs" / "gateways"
CLASSES = "trafficrouting_ingress/"
NAMESPACE = "demo"
WIDTH = 110
RIGHTS_OF_ITS_OWN = {
    "gateway.networking.k8s.io/HTTPRoute",
    "networking.istio.io/DestinationRule",
    "networking.istio.io/VirtualService",
    "networking.k8s.io/Ingress",
}
"""Kinds that the controller's own role covers; the classes are Ingresses, too."""
NOTES = {
    "networking.istio.io/DestinationRule": (
        "A DestinationRule divides no traffic: name the VirtualService of the same Service in the Rollout, too. "
        "This page shows the DestinationRule alone.\n"
    ),
}
ASKED = {
    "traffic": "`traffic: {}`",
    "matches": "`matches`",
    "requestHeaderModifier": "`requestHeaderModifier`",
}
"""Fields of a step that a script carries out, as the headings name them."""

HEAD = """\
# Examples, kind by kind

A whole example for each packaged kind and Ingress class: the owner's objects, the Rollout, and the gateway objects at
each of two steps. The tests run each of these releases with the real controller on a real API server, but without the
gateway itself.

Names, ports, images and shares are examples. Some fields are there only to show that a release keeps them: the
annotation `owner.example/keep`, routes to other Services, timeouts.

"""

Dumper = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda self, data: True})


def file_of(title: str) -> str:
    """The name of the page of a script."""
    if title.startswith(CLASSES):
        return f"ingress-{title.removeprefix(CLASSES).removesuffix('.lua')}.md"
    return f"{title.replace('/', '-')}.md"


def name_of(title: str) -> str:
    """How people call it."""
    if title.startswith(CLASSES):
        return f"Ingress class `{title.removeprefix(CLASSES).removesuffix('.lua')}`"
    group, _, kind = title.partition("/")
    return f"`{kind}` of `{group}`"


def _yaml(*bodies: JsonObject) -> str:
    text = "---\n".join(
        yaml.dump(body, Dumper=Dumper, sort_keys=False, width=WIDTH, allow_unicode=True)
        for body in bodies
    )
    return f"```yaml\n{text}```\n"


def _step(sample: Sample, number: int) -> tuple[str, list[JsonObject]]:
    """The traffic that a step asks for, in words, and the gateway objects at this step."""
    app = sample.application(NAMESPACE)
    step = sample.rollout(app)["spec"]["strategy"]["canary"]["steps"][number]
    words = ", ".join(text.format(step[key]) for key, text in ASKED.items() if key in step)
    expected = sample.expected()[number]
    led = {**sample.original, **{k: v for k, v in expected.items() if k != "objects"}}
    kind = {key: sample.original[key] for key in ("apiVersion", "kind")}
    beside = [{**kind, **item} for item in expected.get("objects", ())]
    return words, [_located(body, sample) for body in (led, *beside)]


def _located(body: JsonObject, sample: Sample) -> JsonObject:
    """The object with its namespace, which the test data may leave out."""
    if sample.cluster_scoped:
        return body
    name = body["metadata"]["name"]
    return {**body, "metadata": {"name": name, "namespace": NAMESPACE, **body["metadata"]}}


def _steps(sample: Sample) -> Iterator[str]:
    for number in range(2):
        words, (led, *beside) = _step(sample, number)
        yield f"## At step {number + 1}: {words}\n"
        if led == _located(sample.original, sample):
            yield "The owner's object stays as it is.\n"
        else:
            yield _yaml(led)
        if beside:
            yield "Beside it:\n"
            yield _yaml(*beside)


def _abilities(title: str) -> str:
    path = FOLDER / title
    text = (path if path.suffix == ".lua" else path / "trafficRouting.lua").read_text()
    can = sorted(parse_header(text).can or ())
    link = "[these abilities](../gateways.md#what-each-can-do)"
    return f"Steps may use {link}: {', '.join(can)}.\n" if can else ""


def _rights(title: str) -> str:
    if title in RIGHTS_OF_ITS_OWN or title.startswith(CLASSES):
        return "The controller's own role covers the kind.\n"
    return (
        "The controller's own role does not cover the kind. This command adds the rights for all packaged kinds "
        "(one role per gateway):\n\n"
        "```sh\nkubectl apply -k deploy/kustomize/gateways\n```\n"
    )


def page(title: str, sample: Sample) -> str:
    """A whole page."""
    sample = sample.within(NAMESPACE)
    app = sample.application(NAMESPACE)
    link = "../gateways.md#classes-of-ingress"
    link = link if title.startswith(CLASSES) else "../gateways.md#kind-by-kind"
    parts = [
        f"# {name_of(title)}\n",
        "<!-- Made from the script's test data: python -m tests.unit.lua_configuration.gateway_pages -->\n",
        f"One release in two steps. [What to know](index.md) about all these pages, and about [this kind]({link}).\n",
        NOTES.get(title, ""),
        _abilities(title),
        _rights(title),
        "## What you have\n",
        _yaml(manifests.deployment(app), manifests.service(app), sample.original),
        "## The Rollout\n",
        _yaml(sample.rollout(app)),
        "A change of the Deployment's template begins the release. Each step waits for its approval.\n",
        *_steps(sample),
        "## In the end\n",
        "The owner's object is again as it was before the release, byte for byte. No object is left beside it.\n",
    ]
    return "\n".join(part for part in parts if part)


def pages() -> dict[str, str]:
    """Every page by its file's name, and the list of them."""
    found = {file_of(title): page(title, sample) for title, sample in samples().items()}
    lines = [f"- [{name_of(title)}]({file_of(title)})" for title in samples()]
    return {**found, "index.md": HEAD + "\n".join(lines) + "\n"}


def main() -> None:
    """Write the pages, and delete the pages whose script is gone."""
    FOLDER_OF_PAGES.mkdir(exist_ok=True)
    made = pages()
    for path in _present():
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (FOLDER_OF_PAGES / name).write_text(text)


def _present() -> list[Path]:
    return sorted(FOLDER_OF_PAGES.glob("*.md"))


if __name__ == "__main__":
    main()
