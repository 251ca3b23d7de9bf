"""Texts of others in PromQL, judged by the real parser and engine: a query asks about the text, and nothing else."""

import asyncio
import json
from pathlib import Path

import yaml

from controller.domain.gates.in_query import in_query
from controller.domain.gates.origins import Origin, Piece, Placed, Word
from localcluster.extras import ensure_extra
from localcluster.progress import SilentReporter
from localcluster.prometheus import PROMTOOL

HOSTILE = (
    'x"}) * 0 or vector(0) #',
    "x'}) * 0 or vector(0) #",
    "x`}) * 0 or vector(0) #",
    "\\",
    '\\"',
    ".*",
    "a|b",
    "[a-z]+(?i:x){2}^$",
    "é # {}",
)
QUOTES = "\"'`"


def query(text: str, match: str, quote: str) -> str:
    """The sum over the series whose label is the text."""
    pieces: list[Piece] = [
        f"sum(errors{{team{match}{quote}",
        Placed("args.team", Word(text, Origin.OTHERS)),
        f"{quote}}})",
    ]
    made = in_query(pieces)
    assert isinstance(made, str)
    return made


async def test_the_real_parser_sees_the_authors_query_whatever_others_write(tmp_path: Path) -> None:
    built = await ensure_extra(PROMTOOL, SilentReporter())
    asked = [
        (query(text, match, quote), 2.0**number)
        for number, text in enumerate(HOSTILE)
        for match in ("=", "=~")
        for quote in QUOTES
        if quote not in text or quote != "`"
    ]
    file = {
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": f"errors{{team={json.dumps(text)}}}", "values": f"{2**number}"}
                    for number, text in enumerate(HOSTILE)
                ],
                "promql_expr_test": [
                    {
                        "expr": expression,
                        "eval_time": "0m",
                        "exp_samples": [{"labels": "{}", "value": value}],
                    }
                    for expression, value in asked
                ],
            }
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(file))
    process = await asyncio.create_subprocess_exec(
        *(str(built.binary), "test", "rules", "test.yaml"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
