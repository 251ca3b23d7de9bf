"""The script worker: runs untrusted Lua in processes without any rights. Start: `python -m luaworker`."""

__version__ = "0.1.0"
