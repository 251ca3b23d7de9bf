"""The placeholder of a Secret's value in a text of a metric: `{{ secret NAME/KEY }}`.

Why a placeholder: the query is in the status, and a person who may read a Rollout need not have a right to the Secret.
Invariant: decisions and statuses have placeholders; values are filled in only where a request is sent.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from controller.api.analysis import SecretKey

_PLACE = re.compile(r"\{\{ secret ([a-z0-9.-]+)/([A-Za-z0-9._-]+) \}\}")


def place_of(source: SecretKey) -> str:
    """The placeholder text."""
    return f"{{{{ secret {source.name}/{source.key} }}}}"


def secrets_of(texts: Iterable[str]) -> tuple[SecretKey, ...]:
    """The values that the texts need, each once."""
    found = (SecretKey(*place) for text in texts for place in _PLACE.findall(text))
    return tuple(dict.fromkeys(found))


def texts_before_places(text: str) -> Iterator[str]:
    """For each placeholder, the text in front of it that comes behind the begin of the one before."""
    begin = 0
    for place in _PLACE.finditer(text):
        yield text[begin : place.start()]
        begin = place.start()


def with_values(text: str, values: Mapping[SecretKey, str]) -> str:
    """The text as it is sent."""
    return _PLACE.sub(lambda place: values[SecretKey(place[1], place[2])], text)
