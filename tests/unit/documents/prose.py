"""All sentences of the repository that people read: docstrings, comments, messages and documents, each with its place.

Invariant: a sentence is found whole, although its lines are broken, with the number of the line in which it begins.
Code, fenced blocks and generated files are no prose. It must not judge.
"""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("controller", "luaworker", "localcluster", "demo", "tests")
MESSAGE_WORDS = 5
"""A string with fewer words is a name or a value, not a message."""
_END = re.compile(r"(?<=[.?!:;])\s+(?=[A-Z`*\"])|(?<=\|)\s|\n\n|\n(?=\s*[-*#|] )")
_GENERATED = ("_pb2.py", "_pb2_grpc.py")


class Sentence(NamedTuple):
    """A sentence, and where it begins."""

    file: str
    line: int
    text: str


def sentences(wanted: Callable[[str], bool]) -> Iterator[Sentence]:
    """The sentences of the files that people write, if `wanted` is true for the text of the file."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.name.endswith(_GENERATED) or not wanted(text := path.read_text()):
                continue
            yield from of_source(path.relative_to(ROOT).as_posix(), text)
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))):
        yield from of_page(path.relative_to(ROOT).as_posix(), path.read_text())


def of_source(file: str, source: str) -> Iterator[Sentence]:
    """The sentences of docstrings, comments and messages."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _divided(file, node.lineno, node.value, MESSAGE_WORDS)
    yield from _comments(file, source)


def of_page(file: str, text: str) -> Iterator[Sentence]:
    """The sentences of a document in Markdown."""
    prose = re.sub(
        r"^```.*?^```",
        lambda found: "\n" * found[0].count("\n"),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    yield from _divided(file, 1, prose, 1)


def _comments(file: str, source: str) -> Iterator[Sentence]:
    """Comments; lines that follow each other are one text."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    block: list[tokenize.TokenInfo] = []
    for token in (*(token for token in tokens if token.type == tokenize.COMMENT), None):
        if block and (token is None or token.start[0] != block[-1].start[0] + 1):
            yield from _divided(file, block[0].start[0], _joined(block), 1)
            block = []
        if token is not None:
            block.append(token)


def _joined(block: Iterable[tokenize.TokenInfo]) -> str:
    return "\n".join(token.string.lstrip("# ") for token in block)


def _divided(file: str, line: int, text: str, fewest: int) -> Iterator[Sentence]:
    """The sentences of a text that begins in a line."""
    at = 0
    for part in _END.split(text):
        begins = text.index(part, at)
        at = begins + len(part)
        if len(part.split()) >= fewest:
            yield Sentence(file, line + text.count("\n", 0, begins), " ".join(part.split()))
