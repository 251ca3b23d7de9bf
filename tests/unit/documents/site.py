"""The sources of the site: docs/ and the pages outside of it in one folder, with links that fit.

Why: the documents are read in the repository, where a link names a file. The site has no files beside its pages, so a
link to a page becomes a link to that page's place. Invariant: `make docs-site` builds what this writes, in strict mode;
a page that the navigation does not name is no page. `python -m tests.unit.documents.site` writes build/docs and
build/mkdocs.yml. It must need nothing but the standard library: the site has a virtual environment of its own.
"""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[3]
CONFIGURATION = ROOT / "mkdocs.yml"
SOURCES = ROOT / "build" / "docs"
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "SECURITY.md": "reporting.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "MAINTAINERS.md": "maintainers.md",
    "tests/README.md": "tests.md",
}
"""Pages that are not in docs/. `docs/security.md` is a page, too, and some file systems do not tell upper case from
lower case.
"""
FOLDER = re.compile(r"^( *)- (?:[\w ]+: )?([\w-]+)/$")
LIST = re.compile(r"^(?:[-*]|\d+\.) ")


def pages() -> dict[str, str]:
    """Every page of the site by its path, with its text."""
    made = {
        path.relative_to(ROOT / "docs").as_posix(): path.read_text()
        for path in sorted(ROOT.glob("docs/**/*.md"))
    }
    made |= {name: (ROOT / source).read_text() for source, name in OUTSIDE.items()}
    return {name: fitted(name, text) for name, text in made.items()}


def files() -> dict[str, Path]:
    """Every file of the site that is no page, by its path: pictures and figures."""
    found = (*ROOT.glob("docs/pictures/*"), *ROOT.glob("docs/benchmarks/*"))
    return {path.relative_to(ROOT / "docs").as_posix(): path for path in sorted(found)}


def fitted(name: str, text: str) -> str:
    """A page as its site's generator reads it: links to pages, and a blank line before each list."""
    if name in OUTSIDE.values():
        text = text.replace("](docs/", "](").replace("](../docs/", "](")
    for source, page in OUTSIDE.items():
        text = text.replace(f"](../{source}", f"]({page}").replace(f"]({source}", f"]({page}")
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        before = lines[-1] if lines else ""
        starts = LIST.match(line) and before and not LIST.match(before) and before[0] != " "
        if starts and not fenced:
            lines.append("")
        fenced ^= line.lstrip().startswith("```")
        lines.append(line)
    return "\n".join(lines) + "\n"


def configuration() -> str:
    """`mkdocs.yml` with every folder of the navigation as the list of its pages, and folders of the repository."""
    lines: list[str] = []
    for line in CONFIGURATION.read_text().splitlines():
        found = FOLDER.match(line)
        if found is None:
            lines.append(line)
            continue
        blanks, folder = found.groups()
        lines.append(line.removesuffix(f" {folder}/"))
        lines += [f"{blanks}    - {name}" for name in _in_folder(folder)]
    return "\n".join(lines).replace("_dir: build/", "_dir: ") + "\n"


def _in_folder(folder: str) -> list[str]:
    names = sorted(name for name in pages() if name.startswith(f"{folder}/"))
    return sorted(names, key=lambda name: not name.endswith("/index.md"))


def main() -> None:
    """Write sources, pictures and configuration."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    for name, text in pages().items():
        path = SOURCES / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, source in files().items():
        place = SOURCES / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
    (ROOT / "build" / "mkdocs.yml").write_text(configuration())


if __name__ == "__main__":
    main()
