"""Functions as tools: ``@orlop.tool``. The schema comes from the signature and the doc string."""

from __future__ import annotations

import enum
import inspect
import re
import sys
import types
import typing
from typing import Any, Callable, Optional

from .errors import PluginMistake, describe, log_trace

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
_LISTS = (list, tuple, set, frozenset)


def tool(function: Any = None, *, name: Optional[str] = None, description: Optional[str] = None, **annotations: Any) -> Any:
    """Makes a function a tool.

    ``@orlop.tool`` alone is enough; annotations such as ``idempotent=True`` say how it may be treated.
    """

    def mark(target: Callable[..., Any]) -> Callable[..., Any]:
        target.__orlop_tool__ = {"name": name, "description": description, "annotations": annotations}  # type: ignore[attr-defined]
        return target

    return mark if function is None else mark(function)


def is_tool_function(value: Any) -> bool:
    """Whether a function was made a tool."""
    return inspect.isfunction(value) and hasattr(value, "__orlop_tool__")


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The schema that the model sees."""
    said = function.__orlop_tool__  # type: ignore[attr-defined]
    summary, described = _doc(function)
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise PluginMistake(f"{function.__name__}: its type hints cannot be read: {describe(error)}") from error
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise PluginMistake(f"{function.__name__}: a tool has named parameters only, and not `{parameter}`")
        schema = _type_schema(hints.get(parameter.name, Any))
        if parameter.name in described:
            schema = {**schema, "description": described[parameter.name]}
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif isinstance(parameter.default, (str, int, float, bool, list, dict)):
            schema = {**schema, "default": parameter.default}
        properties[parameter.name] = schema
    schema = {
        "name": said["name"] or function.__name__,
        "description": said["description"] or summary,
        "parameters": {"type": "object", "properties": properties, "required": required},
    }
    if said["annotations"]:
        schema["annotations"] = said["annotations"]
    return schema


def _type_schema(hint: Any) -> dict[str, Any]:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        texts = [note for note in inner[1:] if isinstance(note, str)]
        schema = _type_schema(inner[0])
        return {**schema, "description": texts[0]} if texts else schema
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if origin in (typing.Union, types.UnionType):
        choices = [_type_schema(one) for one in inner if one is not type(None)]
        return choices[0] if len(choices) == 1 else {"anyOf": choices}
    if hint in _LISTS or origin in _LISTS:
        items = [one for one in inner if one is not Ellipsis]
        return {"type": "array", "items": _type_schema(items[0])} if items else {"type": "array"}
    if hint is dict or origin is dict:
        return {"type": "object"}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if typing.is_typeddict(hint):
        fields = typing.get_type_hints(hint, include_extras=True)
        properties = {name: _type_schema(one) for name, one in fields.items()}
        return {"type": "object", "properties": properties, "required": sorted(hint.__required_keys__)}
    return {}


_SECTION = re.compile(r"^\s*(Args|Arguments|Parameters):\s*$")
_END = re.compile(r"^\s*(Returns|Yields|Raises|Example|Examples|Note):")
_ENTRY = re.compile(r"^\s*(?::param\s+)?\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.+)$")


def _doc(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The summary of a doc string, and what it says of the parameters."""
    names = set(inspect.signature(function).parameters)
    summary: list[str] = []
    described: dict[str, str] = {}
    part, last = "summary", ""
    for line in (inspect.getdoc(function) or "").splitlines():
        if _SECTION.match(line):
            part = "args"
        elif _END.match(line):
            part = "end"
        elif line.lstrip().startswith(":"):
            part = "args"
        entry = _ENTRY.match(line) if part == "args" else None
        if entry and entry[1] in names:
            last = entry[1]
            described[last] = entry[2].strip()
        elif part == "args" and last and line.strip() and not _SECTION.match(line):
            described[last] += " " + line.strip()
        elif part == "summary":
            summary.append(line)
    return "\n".join(summary).strip(), described


class FunctionTools:
    """All functions of a module that are tools, as one plugin."""

    def __init__(self, functions: list[Callable[..., Any]]) -> None:
        self._schemas = [schema_of(function) for function in functions]
        self._functions = {schema["name"]: function for schema, function in zip(self._schemas, functions)}
        if not any(map(_yields, functions)):
            self.stream_tool = None  # type: ignore[assignment]
        module = sys.modules.get(functions[0].__module__)
        self.version = getattr(module, "__version__", "0.0.0")

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return self._schemas

    def _bound(self, tool_name: str, payload: Any) -> tuple[Any, dict[str, Any]]:
        function = self._functions.get(tool_name)
        if function is None:
            raise _Refused(f"there is no tool {tool_name!r}; there are: {', '.join(self._functions)}")
        names = list(inspect.signature(function).parameters)
        if isinstance(payload, str) and len(names) == 1:
            payload = {names[0]: payload}
        if not isinstance(payload, dict):
            raise _Refused(f"{tool_name} takes a mapping of arguments")
        try:
            inspect.signature(function).bind(**payload)
        except TypeError as error:
            raise _Refused(f"{tool_name}: {error}; it takes: {', '.join(names) or 'nothing'}") from None
        return function, payload

    def execute_tool(self, tool_name: str, payload: Any) -> Any:
        try:
            function, named = self._bound(tool_name, payload)
            result = function(**named)
            if inspect.isgenerator(result):
                return _drained(result)
            if inspect.isasyncgen(result):
                return _drained_later(result)
            return _reported_later(result, tool_name) if inspect.isawaitable(result) else _report(result)
        except Exception as error:
            return _failed(error, tool_name)

    def stream_tool(self, tool_name: str, payload: Any) -> Any:
        try:
            function, named = self._bound(tool_name, payload)
            result = function(**named)
        except Exception as error:
            return iter([_failed(error, tool_name)])
        if inspect.isgenerator(result):
            return _streamed(result, tool_name)
        if inspect.isasyncgen(result):
            return _streamed_later(result, tool_name)
        return _one_later(result, tool_name) if inspect.isawaitable(result) else iter([_report(result)])


class _Refused(Exception):
    """The model called it wrongly; no stack trace helps."""


def _yields(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _failed(error: BaseException, tool_name: str) -> dict[str, Any]:
    if isinstance(error, _Refused):
        return {"success": False, "error": str(error)}
    if getattr(error, "error_class", None) == "cancelled":
        raise error
    log_trace(error, tool_name)
    return {"success": False, "error": describe(error)}


def _report(result: Any) -> dict[str, Any]:
    if isinstance(result, dict) and isinstance(result.get("success"), bool):
        return result
    return {"success": True, "output": "" if result is None else result}


class _Parts:
    """What a function yielded: the report if it gave one, else its texts are the output."""

    def __init__(self) -> None:
        self.reported = False
        self.texts: list[str] = []

    def take(self, value: Any) -> dict[str, Any]:
        if isinstance(value, dict) and isinstance(value.get("success"), bool):
            self.reported = True
            return value
        if isinstance(value, str):
            self.texts.append(value)
        return value if isinstance(value, dict) and "part" in value else {"part": value}

    def rest(self, result: Any = None) -> list[dict[str, Any]]:
        if self.reported and result is None:
            return []
        return [_report("".join(self.texts) if result is None else result)]


def _streamed(generator: Any, tool_name: str) -> Any:
    parts = _Parts()
    try:
        result = None
        while True:
            try:
                yield parts.take(next(generator))
            except StopIteration as end:
                result = end.value
                break
        yield from parts.rest(result)
    except Exception as error:
        yield _failed(error, tool_name)
    finally:
        generator.close()


async def _streamed_later(generator: Any, tool_name: str) -> Any:
    parts = _Parts()
    try:
        async for value in generator:
            yield parts.take(value)
        for part in parts.rest():
            yield part
    except Exception as error:
        yield _failed(error, tool_name)
    finally:
        await generator.aclose()


async def _reported_later(awaitable: Any, tool_name: str) -> Any:
    try:
        return _report(await awaitable)
    except Exception as error:
        return _failed(error, tool_name)


async def _one_later(awaitable: Any, tool_name: str) -> Any:
    yield await _reported_later(awaitable, tool_name)


def _drained(generator: Any) -> dict[str, Any]:
    last: dict[str, Any] = {}
    for last in _streamed(generator, "tool"):
        pass
    return last


async def _drained_later(generator: Any) -> dict[str, Any]:
    last: dict[str, Any] = {}
    async for last in _streamed_later(generator, "tool"):
        pass
    return last
