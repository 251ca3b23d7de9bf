"""The log lines that an operator reads."""

import json
import logging

from luaworker.logs import JsonFormatter


def test_a_record_is_one_line_of_plain_text_with_any_name_of_a_tenant() -> None:
    name = "a\n\x1b[2J\x9b\u2028\u202e"
    record = logging.makeLogRecord({"msg": "killed", "levelno": logging.ERROR, "tenant": name})
    line = JsonFormatter().format(record)
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["tenant"] == name
