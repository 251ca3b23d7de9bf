"""Floods a webhook from ten connections: `python -m tests.bench.flooding PORT`, until its standard input ends.

Why a process of its own: the work of the flood's sender must not delay the measurement. It must not measure.
"""

import asyncio
import sys

from tests.component.webhook.forged import FLOOD, flood

CONNECTIONS = 10


async def main(port: int) -> None:
    """Send the flood, and print the seen answers at the end."""
    over = asyncio.Event()
    each = [
        asyncio.create_task(flood(port, number % len(FLOOD), over)) for number in range(CONNECTIONS)
    ]
    await asyncio.to_thread(sys.stdin.read)
    over.set()
    seen = set[int]().union(*await asyncio.gather(*each))
    sys.stdout.write(" ".join(str(status or "cut off") for status in sorted(seen)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
