"""A gate over any JSON page: GET it, and read the number at a path.

Invariant: a path is plain names and list positions, `results.0.value`; nothing in a page is executed. A path
without a value is no data; a value that is no number is an error that does not repeat the value.
"""

import msgspec

from controller.api.analysis import WebQuery
from controller.api.decoding import decoded
from controller.measure.fetching import Failed, Fetching, Request


async def ask(
    fetching: Fetching, namespace: str, page: WebQuery
) -> tuple[float | None, float | None]:
    """The value and, if `samplesPath` asks for it, the number of samples. Raises `Failed`."""
    request = Request(
        namespace,
        page.url,
        headers=page.headers,
        auth=page.auth,
        timeout_seconds=page.timeout_seconds,
    )
    body = await fetching.fetch(request)
    try:
        tree = decoded(body, object)
    except msgspec.DecodeError as error:
        raise Failed("the page is no JSON") from error
    samples = at(tree, page.samples_path) if page.samples_path else None
    return at(tree, page.value_path), samples


def at(tree: object, path: str) -> float | None:
    """The number at `path`, None if there is nothing. Raises `Failed` if it is no number."""
    for name in path.split("."):
        if isinstance(tree, dict):
            tree = tree.get(name)
        elif isinstance(tree, list) and name.isdecimal() and int(name) < len(tree):
            tree = tree[int(name)]
        else:
            return None
    if tree is None:
        return None
    if isinstance(tree, bool) or not isinstance(tree, int | float | str):
        raise Failed(f"{path} is no number")
    try:
        return float(tree)
    except (ValueError, OverflowError) as error:
        raise Failed(f"{path} is no number that can be compared") from error
