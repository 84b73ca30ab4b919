"""A server of the official Python SDK: `stdio`, or a port for streamable HTTP."""

import sys

from mcp.server import MCPServer

server = MCPServer("notes")


@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": a + b}


@server.prompt()
def summarise(text: str) -> str:
    """Asks for a summary."""
    return f"Summarise: {text}"


@server.resource("notes://today")
def today() -> str:
    """The note of today."""
    return "Buy rope."


if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
