"""Marks: the texts that a script gets in the place of the values of Secrets.

Why: a script runs in the worker, which may never have a credential. Invariant: a mark says nothing about the value, is
new for each turn (`entropy` is random bytes of the caller), and cannot be guessed. Words of a script have no
mark. Marks in a request become the placeholders `{{ secret NAME/KEY }}` (`placing`).
"""

import re
from collections.abc import Mapping

from controller.api.analysis import SecretKey
from controller.domain.decision.value import Value
from controller.domain.gates.secret_places import place_of

PREFIX = "MOONSHIFT_SECRET_"
BYTES_OF_A_MARK = 16
PLACE = "{{ secret"
"""How the place of a value begins; a script may not write one, because it would choose the Secret."""
_MARK = re.compile(PREFIX + "[0-9a-f]{32}")


class Marks(Value, frozen=True):
    """The marks of one turn: by the name that the script knows, and the place that each stands for."""

    by_name: Mapping[str, str]
    places: Mapping[str, str]

    @property
    def of_secrets(self) -> dict[str, str]:
        """The field `obj.secrets` of the script."""
        return dict(self.by_name)

    def with_places(self, text: str) -> str:
        """The text with the place of a value where a mark stood."""
        return _MARK.sub(lambda found: self.places.get(found[0], found[0]), text)

    def without(self, text: str) -> str:
        """Words of a script as people may read them: the name of a secret where its mark stood."""
        names = {mark: f"(secret {name})" for name, mark in self.by_name.items()}
        return _MARK.sub(lambda found: names.get(found[0], found[0]), text)


def marks_for(secrets: Mapping[str, SecretKey], entropy: bytes) -> Marks:
    """A mark for each secret; `entropy` has `BYTES_OF_A_MARK` random bytes for each of them."""
    size = BYTES_OF_A_MARK
    if len(entropy) < size * len(secrets):
        raise ValueError(f"{size} random bytes are needed for each mark")
    by_name = {
        name: PREFIX + entropy[number * size : (number + 1) * size].hex()
        for number, name in enumerate(sorted(secrets))
    }
    return Marks(by_name, {mark: place_of(secrets[name]) for name, mark in by_name.items()})


def has_mark(text: str) -> bool:
    """Whether a text has the form of a mark somewhere, in any spelling that a host or a header could have."""
    return PREFIX.lower() in text.lower()


def has_place(text: str) -> bool:
    """Whether a text would be read as the place of a Secret's value."""
    return PLACE in text
