"""The size of the project in figures: `make stats`. A test holds functions and the glossary to their bounds.

A riddle is a line of a docstring that begins with a relative clause instead of a noun ("What nobody needs ...").
"""

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = ("controller", "luaworker")
MOST_OF_FUNCTION = 40
MOST_OF_FILE = 500
_RIDDLE = re.compile(
    r"(?:^|[.:;,] )(?:What|Who|Where what|That which|what) (?!is new|happens|it does|to )[a-z]+"
    r"|\b(?:what|who) (?:nothing|only|has|comes|goes|says|leads|points|stands|was|waits|gives|runs)\b"
    r"|\bis no [a-z]+ of\b|\bwaits for being\b"
)


def files(*folders: str, ending: str = ".py") -> list[Path]:
    """Files that people write."""
    found = (path for folder in folders for path in sorted((ROOT / folder).rglob(f"*{ending}")))
    return [path for path in found if "__pycache__" not in path.parts]


def lines(path: Path) -> int:
    """Lines that are not blank."""
    return sum(1 for line in path.read_text().splitlines() if line.strip())


def long_functions() -> list[str]:
    """Functions of the product that are longer than allowed."""
    found = []
    for path in files(*PRODUCT):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                if size > MOST_OF_FUNCTION:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {size}")
    return found


def long_files() -> list[str]:
    """Files of the product that are longer than allowed."""
    sizes = ((path, len(path.read_text().splitlines())) for path in files(*PRODUCT))
    return [f"{path.relative_to(ROOT)}: {size}" for path, size in sizes if size > MOST_OF_FILE]


def riddles() -> Iterator[str]:
    """Lines of docstrings of the product that may have to be read twice."""
    for path in files(*PRODUCT):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                for line in (ast.get_docstring(node) or "").splitlines():
                    if _RIDDLE.search(line):
                        yield f"{path.relative_to(ROOT)}: {line.strip()}"


def terms() -> int:
    """Rows of the glossary's tables."""
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    return sum(1 for row in rows if row not in ("term", "word", "---"))


def main() -> int:
    """Print the counts; with `--riddles` each line that counts as one."""
    for name, folder, ending in (
        ("controller", "controller", ".py"),
        ("luaworker", "luaworker", ".py"),
        ("tests", "tests", ".py"),
        ("packaged Lua", "lua_configuration", ".lua"),
    ):
        sizes = [lines(path) for path in files(folder, ending=ending)]
        sys.stdout.write(
            f"{name}: {sum(sizes)} non-blank lines in {len(sizes)} files, median "
            f"{statistics.median(sizes):g}, longest {max(sizes)}\n"
        )
    found = list(riddles())
    sys.stdout.write(f"functions over {MOST_OF_FUNCTION} lines: {len(long_functions())}\n")
    sys.stdout.write(f"files over {MOST_OF_FILE} lines: {len(long_files())}\n")
    sys.stdout.write(f"terms in the glossary: {terms()}\n")
    sys.stdout.write(f"docstring lines that may be riddles: {len(found)}\n\n")
    if "--riddles" in sys.argv:
        sys.stdout.write("\n".join(found) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
