"""The size of the project in figures: `make stats`. A test checks the bounds of functions and of the glossary."""

import ast
import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = ("controller", "luaworker")
MOST_OF_FUNCTION = 40
MOST_OF_FILE = 500


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


def terms() -> int:
    """Rows of the glossary's tables."""
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    return sum(1 for row in rows if row not in ("term", "word", "---"))


def words_of_the_readme() -> int:
    """Everything that blanks divide, code and tables included."""
    return len((ROOT / "README.md").read_text().split())


def main() -> int:
    """Print the counts."""
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
    sys.stdout.write(f"functions over {MOST_OF_FUNCTION} lines: {len(long_functions())}\n")
    sys.stdout.write(f"files over {MOST_OF_FILE} lines: {len(long_files())}\n")
    sys.stdout.write(f"terms in the glossary: {terms()}\n")
    sys.stdout.write(f"words in the README: {words_of_the_readme()}\n\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
