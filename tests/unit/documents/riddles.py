"""Words that make a sentence a riddle: the reader has to guess the noun behind them, or reads the sentence twice.

Each pattern is a real case, found in this repository by a reader whose second language is English. Invariant: a pattern
matches no plain sentence; a pattern with false alarms leaves the list.
"""

import re
from collections.abc import Iterable, Iterator

from tests.unit.documents.prose import Sentence, sentences

RIDDLES = {
    "that which": "name the thing",
    "(?:what|who(?:ever)?) (?:nothing|nobody|no|only|neither)": "begin with the noun: objects that nobody ...",
    "of which what": "name the part",
    "what it is that": "name the thing",
    "(?:whoever|whatever|whichever) (?:it|of|he)": "name the person or the thing",
    "waits? for being": "say the event: waits until ...",
    "is being-": "name the state",
    "how (?:it|they|everything|(?:each|every|an?) [a-z]+) stands?": "name the state",
    "there (?:is|are) not": "write: does not exist",
    "no more [a-z ]+ than it did": "name the earlier value",
    "(?:is|are|was|were) (?:said|told)(?! (?:to|that|apart|by|from|how|so|what|where|which|not))": "write: is reported",
    "(?:told|tells?) of": "write: reports, shows",
    "(?:is|are|be|each) held against": "write: is checked against, is compared with",
    "mid-?release|mid-?way": "write: during a release",
    "(?:can|cannot) say": "write: can express",
    "(?:tells?|told) (?:[a-z]+ )?apart": "write: distinguishes",
}
"""A pattern of whole words, in any case of letters, and the advice for a sentence that contains it."""

_FOUND = {
    re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.I): tip for words, tip in RIDDLES.items()
}
_BEGINS = re.compile(r"^(?:What|Who|Whoever|Whatever|Whichever|That which) (?!to )[^?|]*\.$")
"""A relative clause in place of the subject; questions and headings may begin so."""
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|\*[^* ][^*]*\*|_\w+_")
_MAYBE = re.compile(
    r"(?-i:\b(?:What|Who|That) )|" + "|".join(RIDDLES).replace(" ", r"\s+(?:#\s+)?"), re.I
)


def riddles(found: Iterable[Sentence]) -> Iterator[str]:
    """Each riddle among the sentences: its place, the words that make it one, the advice, and the sentence."""
    for sentence in found:
        text = _QUOTED.sub("…", sentence.text)
        tips = {match[0]: tip for words, tip in _FOUND.items() if (match := words.search(text))}
        if _BEGINS.search(text):
            tips[text.split()[0]] = "begin with the noun"
        for words, tip in tips.items():
            yield f"{sentence.file}:{sentence.line}: “{words}” ({tip}): {sentence.text[:200]}"


def all_riddles() -> list[str]:
    """The riddles of the repository, except in the list of riddles."""
    own = ("tests/unit/documents/riddles.py", "tests/unit/documents/test_riddles.py")
    there = sentences(lambda text: _MAYBE.search(text) is not None)
    return list(riddles(sentence for sentence in there if sentence.file not in own))
