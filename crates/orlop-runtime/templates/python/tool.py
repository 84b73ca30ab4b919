"""A tool: the model calls it, and reads what it returns."""

from typing import Annotated

import orlop


@orlop.tool(access="none", idempotent=True)
def greet(name: Annotated[str, "whom to greet"]) -> str:
    """Greets somebody."""
    return f"Hello, {name}!"
