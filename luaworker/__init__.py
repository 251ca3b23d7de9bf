"""The script worker: runs Lua that nobody has to trust, in processes that own nothing. Start: `python -m luaworker`."""

__version__ = "0.1.0"
