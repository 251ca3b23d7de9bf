"""The network that real traffic runs in."""

import json
import subprocess
import sys

from localcluster.traffic.namespace import inside

PROGRAM = """
import json, socket
server = socket.create_server(("0.0.0.0", 80))
client = socket.create_connection(("198.18.200.7", 80), 5)
accepted, _ = server.accept()
seen = {"pod": accepted.getsockname()[0], "interfaces": [name for _, name in socket.if_nameindex()]}
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as error:
    seen["outside"] = error.errno
print(json.dumps(seen))
"""
NETWORK_UNREACHABLE = 101


def test_every_pod_address_is_this_machines_and_nothing_leads_out() -> None:
    done = subprocess.run(
        inside([sys.executable, "-c", PROGRAM]),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    seen = json.loads(done.stdout)
    assert seen == {"pod": "198.18.200.7", "interfaces": ["lo"], "outside": NETWORK_UNREACHABLE}
