"""A host plugin: nothing is deployed on Fridays, and agents know it."""

from datetime import date
from typing import Any, Callable, Optional


class NoFridays:
    name = "no_fridays"
    version = "1.0.0"
    critical = True

    def __init__(self) -> None:
        self.is_friday: Callable[[], bool] = lambda: date.today().weekday() == 4

    def context_providers(self) -> list[str]:
        return ["It is Friday: nothing is deployed."] if self.is_friday() else []

    def before_tool_call(self, tool_name: str) -> Optional[dict[str, Any]]:
        if tool_name == "deploy" and self.is_friday():
            return {"deny": "not on a Friday"}
        return None
