"""Has Schemathesis ask every route of the OpenAPI document of a server: there must be no server
error, no status and no content type that the document does not have, and no other body."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
SERVER = os.environ["ORLOP_BASE_URL"].removesuffix("/v1")


def post(path, body, **headers):
    """Makes something that can be asked about."""
    data = json.dumps(body).encode()
    headers = {"content-type": "application/json", **headers}
    request = urllib.request.Request(SERVER + path, data, headers)
    with urllib.request.urlopen(request) as response:
        return response.read()


for session in ["one", "two"]:
    post("/api/v1/sessions", {"session_id": session})
post("/api/v1/sessions/one/requests", {"content": "hi", "stream": False, "request_id": "one"})
post("/v1/responses", {"model": "helper", "input": "hi"}, **{"x-request-id": "asked"})

schemathesis = Path(sys.executable).with_name("schemathesis")
command = [schemathesis, "--config-file", HERE / "schemathesis.toml", "run", f"{SERVER}/openapi.json"]
sys.exit(subprocess.run([*command, *sys.argv[1:]], check=False).returncode)
