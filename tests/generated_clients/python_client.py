"""Compiles, launches and lists with a client that openapi-python-client has made: no test itself.

    $ python python_client.py URL BODIES

BODIES is JSON: a compile request and a launch request.
"""

import json
import sys

from tritond_client import Client
from tritond_client.api.compilations import create_compilation, get_compilation, list_compilations
from tritond_client.api.launches import create_launch
from tritond_client.models import Abi, CompileRequest, LaunchRequest, Problem

url, bodies = sys.argv[1], json.loads(sys.argv[2])
client = Client(base_url=url, timeout=120)
request = CompileRequest.from_dict(bodies["compilation"])
compiled = create_compilation.sync(client=client, body=request, wait=60)
again = get_compilation.sync(client=client, key=compiled.key)
launched = create_launch.sync_detailed(
    client=client, body=LaunchRequest.from_dict(bodies["launch"]), wait=60, idempotency_key="once"
)
listed = list_compilations.sync(client=client, limit=1)
refused = create_compilation.sync(
    client=client, body=CompileRequest.from_dict(bodies["compilation"] | {"target": "sm_1"})
)
assert isinstance(again.abi, Abi)
assert isinstance(refused, Problem)
sys.stdout.write(
    json.dumps(
        {
            "state": compiled.state,
            "entry": again.abi.entry,
            "verdict": launched.parsed.verdict,
            "location": launched.headers["location"] == launched.parsed.url,
            "listed": listed.items[0].id == compiled.key,
            "refused": refused.slug,
        }
    )
)
