"""The shortest plugin: a function that the model can call."""

import orlop


@orlop.tool(idempotent=True, concurrent=True)
def add(a: float, b: float) -> float:
    """Adds two numbers."""
    return a + b
