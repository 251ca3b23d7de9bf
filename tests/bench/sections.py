"""One section of docs/benchmarks.md, in the place of the one that is there.

Why it exists: figures that have runs of their own (at scale, scripts in the worker) stand on the page of the usual
run. Invariant: all other sections keep their text. It must not measure or judge.
"""

from demo.stage import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
_NEXT = "\n## "


def replace_section(heading: str, section: str) -> None:
    """Write a section, which begins with its heading; a page without it gets it at the end."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(page, heading, section), encoding="utf-8")


def replaced(page: str, heading: str, section: str) -> str:
    """The page with another text of one section."""
    before, _, rest = page.partition(f"{heading}\n")
    _, found, after = rest.partition(_NEXT)
    return f"{before.rstrip()}\n\n{section.strip()}\n{found}{after}"
