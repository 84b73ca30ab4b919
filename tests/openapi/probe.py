"""Has Schemathesis ask every route of the OpenAPI document of a server: there must be no server
error, no status and no content type that the document does not have, and no other body.

Where the server needs a token, `ORLOP_TOKEN` is one, and no route may be had without it."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
SERVER = os.environ["ORLOP_BASE_URL"].removesuffix("/v1")
TOKEN = os.environ.get("ORLOP_TOKEN")
KNOWN = {"authorization": f"Bearer {TOKEN}"} if TOKEN else {}


def ask(method, path, body=None, **headers):
    """Status and body of an answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", **headers}
    request = urllib.request.Request(SERVER + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def make(path, body, **headers):
    """Makes something that can be asked about."""
    status, said = ask("POST", path, body, **KNOWN, **headers)
    assert status < 300, (status, said)


def had_without_a_token():
    """The routes of the document that need a right and are answered without one."""
    _, document = ask("GET", "/openapi.json", **KNOWN)
    for path, methods in json.loads(document)["paths"].items():
        path = path.replace("{index}", "0").replace("{", "").replace("}", "")
        for method, operation in methods.items():
            for wrong in [{}, {"authorization": "Bearer nobody's"}, {"authorization": "Basic YTpi"}]:
                if "security" in operation and ask(method.upper(), path, **wrong)[0] != 401:
                    yield f"{method} {path} {wrong}"


for session in ["one", "two"]:
    make("/api/v1/sessions", {"session_id": session})
make("/api/v1/sessions/one/requests", {"content": "hi", "stream": False, "request_id": "one"})
make("/v1/responses", {"model": "helper", "input": "hi"}, **{"x-request-id": "asked"})

schemathesis = Path(sys.executable).with_name("schemathesis")
command = [schemathesis, "--config-file", HERE / "schemathesis.toml", "run", f"{SERVER}/openapi.json"]
if TOKEN:
    open_doors = list(had_without_a_token())
    if open_doors:
        sys.exit("these are answered without a token that counts:\n" + "\n".join(open_doors))
    # What is sent does not depend on who asks, so that one of the phases is enough.
    command += ["--header", f"Authorization: Bearer {TOKEN}", "--phases", "coverage"]
sys.exit(subprocess.run([*command, *sys.argv[1:]], check=False).returncode)
