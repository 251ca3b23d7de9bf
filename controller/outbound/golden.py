"""The packaged queries, read once: one file a metric source, one table a query.

Invariant: data, not code: a query is added by a file under `golden/`. A file that cannot be read is a defect of the
package and is raised at start.
"""

import tomllib
from importlib import resources

from controller.domain.gates.golden import GoldenQuery


def packaged() -> dict[tuple[str, str], GoldenQuery]:
    """Every packaged query, by source and name."""
    found: dict[tuple[str, str], GoldenQuery] = {}
    for entry in resources.files("controller.outbound").joinpath("golden").iterdir():
        source, dot, ending = entry.name.rpartition(".")
        if dot and ending == "toml":
            tables = tomllib.loads(entry.read_text("utf-8"))
            for name, table in tables.items():
                found[source, name] = GoldenQuery(
                    " ".join(table["query"].split()), " ".join(table["samples"].split())
                )
    return found
