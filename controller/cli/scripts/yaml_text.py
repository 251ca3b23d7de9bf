"""YAML as Kubernetes reads and people compare it.

Invariant: what is read has JSON's types only (a date stays text, as in the API server's reader), and what is written
reads back as the same value, keys in a fixed order, so that two texts differ exactly where the values do.
"""

import difflib

import yaml

from controller.domain.traffic.tree import Json, Tree, decode, encode

_WIDTH = 1000


class _Loader(yaml.SafeLoader):
    """YAML 1.1 without dates."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Dumper(yaml.SafeDumper):
    """Without anchors: a text is compared and pasted."""

    def ignore_aliases(self, data: object) -> bool:
        """Never write one."""
        return True


def read_yaml(text: str) -> Json:
    """The one document in `text`. Raises ValueError for what is not YAML, or not JSON's data."""
    try:
        value = yaml.load(text, Loader=_Loader)  # a subclass of SafeLoader
        return decode(encode(value))
    except yaml.YAMLError as problem:
        raise ValueError(f"not YAML: {' '.join(str(problem).split())}") from problem
    except (TypeError, RecursionError) as problem:
        raise ValueError(f"not data that JSON can say: {problem}") from problem


def write_yaml(value: Json, *, sort: bool = True) -> str:
    """Block style."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=sort, allow_unicode=True, width=_WIDTH,
        default_flow_style=False,
    )  # fmt: skip
    return text


def diff(before: Tree, after: Tree, names: tuple[str, str], context: int = 3) -> tuple[str, ...]:
    """Unified diff of two values as YAML; empty where they are equal."""
    one, other = (write_yaml(value).splitlines() for value in (before, after))
    return tuple(difflib.unified_diff(one, other, *names, n=context, lineterm=""))
