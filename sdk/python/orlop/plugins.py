"""Finds the plugins of a file, sorts them into kinds, and describes them to the host."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Optional

from .errors import PluginMistake, describe, log_trace
from .functions import FunctionTools, is_tool_function
from .hooks import ALIASES, HOOKS, INPUTS, KINDS, OFFERED, Hook
from .values import copy_json

_HOST_MARKS = frozenset(HOOKS["host"]) - {"start", "stop"}
_ANY_HOOK = frozenset(name for hooks in HOOKS.values() for name in hooks)
# Names that nobody gives to something else by chance.
_LONG_HOOKS = sorted(hook for hook in _ANY_HOOK if len(hook) >= 8)
_TABLE = ("priority", "critical", "uses_models", "discovery_keys", "required_tags", "forbidden_tags",
          "provider", "native_format", "schema_format", "call_format", "before", "after")  # fmt: skip
_LISTS = frozenset({"discovery_keys", "required_tags", "forbidden_tags", "before", "after"})


def history(wanted: Any) -> Callable[[Any], Any]:
    """How much history a method wants: ``"none"``, ``"full"``, or a number of last items."""

    def mark(method: Any) -> Any:
        method.__orlop_history__ = wanted
        return method

    return mark


class Method:
    """A method of a plugin, called with the parameters that it names."""

    def __init__(self, owner: str, name: str, function: Any, hook: Hook) -> None:
        self.where = f"{owner}.{name}"
        self.name = name
        self.hook = hook
        self.function = function
        self._by_position: list[str] = []
        self._by_name: list[tuple[str, str, bool]] = []
        self._rest = False
        self._plan(inspect.signature(function).parameters)
        sources = {source for _, source, _ in self._by_name}
        self.names = frozenset(INPUTS | OFFERED if self._rest else sources | set(self._by_position))

    def _plan(self, parameters: Any) -> None:
        order = self.hook.order
        for position, parameter in enumerate(parameters.values()):
            if parameter.kind is parameter.VAR_KEYWORD:
                self._rest = True
            elif parameter.kind is parameter.VAR_POSITIONAL:
                taken = {source for _, source, _ in self._by_name}
                self._by_position += [name for name in order[position:] if name not in taken]
            else:
                source = self._source(parameter, position)
                if source is None:
                    continue
                if parameter.kind is parameter.POSITIONAL_ONLY:
                    self._by_position.append(source)
                else:
                    optional = parameter.default is not parameter.empty
                    self._by_name.append((parameter.name, source, optional))
        # Names do not go before positions: with *args all before them are positions, too.
        if self._by_position and any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
            plain = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
            moved = [entry for entry in self._by_name if entry[0] in plain]
            self._by_name = [entry for entry in self._by_name if entry[0] not in plain]
            self._by_position = [source for _, source, _ in moved] + self._by_position

    def _source(self, parameter: Any, position: int) -> Optional[str]:
        name = parameter.name.lstrip("_")
        order = self.hook.order
        if name in order or name in self.hook.lists or name in OFFERED:
            return name
        alias = ALIASES.get(name)
        if alias is not None and (alias in order or alias in OFFERED):
            return alias
        if name in INPUTS:
            return name
        if parameter.default is not parameter.empty:
            return None
        if parameter.kind is not parameter.KEYWORD_ONLY and position < len(order):
            return order[position]
        raise PluginMistake(
            f"{self.where} has a parameter `{parameter.name}` that nobody can fill; "
            f"it can have: {', '.join(order)}"
        )

    def __call__(self, values: dict[str, Any]) -> Any:
        named = {
            name: values.get(source)
            for name, source, optional in self._by_name
            if not optional or source in values
        }
        if self._rest:
            taken = {source for _, source, _ in self._by_name} | set(self._by_position)
            named.update({k: v for k, v in values.items() if k not in taken and not k.startswith("_")})
        if self._by_position:
            return self.function(*[values.get(source) for source in self._by_position], **named)
        return self.function(**named)


def with_defaults(config: dict[str, Any], described: list[dict[str, Any]]) -> dict[str, Any]:
    """The section of a package with the defaults of settings that it does not have."""
    filled = copy_json(config)
    for plugin in described:
        for key, descriptor in plugin["config_schema"].items():
            default = descriptor.get("default") if isinstance(descriptor, dict) else None
            if default is None:
                continue
            own = plugin["name"] + "."
            *sections, last = (key[len(own) :] if key.startswith(own) else key).split(".")
            place: Any = filled
            for section in sections:
                place = place.setdefault(section, {}) if isinstance(place, dict) else None
            if isinstance(place, dict):
                place.setdefault(last, copy_json(default))
    return filled


class Plugin:
    """A plugin: an object, its kind, and those of its methods that are hooks."""

    def __init__(self, instance: Any, kind: str, owner: str, fallback_name: str) -> None:
        self.instance = instance
        self.kind = kind
        self.owner = owner
        name = _said(instance, "name", owner)
        if name is not None and not isinstance(name, str):
            raise PluginMistake(f"{owner}.name is {type(name).__name__}; expected a text")
        self.name = name or fallback_name
        self.methods: dict[str, Method] = {}
        for hook_name, hook in HOOKS[kind].items():
            function = getattr(instance, hook_name, None)
            if callable(function):
                self.methods[hook_name] = Method(owner, hook_name, function, hook)
        self.own_chunks = None
        if kind == "provider" and callable(getattr(instance, "process_chunk", None)):
            spec = HOOKS["extension"]["process_chunk"]
            self.own_chunks = Method(owner, "process_chunk", instance.process_chunk, spec)

    def describe(self) -> dict[str, Any]:
        """What the host is told of it."""
        about: dict[str, Any] = {
            "name": self.name,
            "version": str(_said(self.instance, "version", self.owner) or "0.0.0"),
            "kind": self.kind,
            "config_schema": self._config_schema(),
            "hooks": list(self.methods),
            "history": self._history(),
            "uses_models": any("models" in method.names for method in self.methods.values()),
        }
        for key in _TABLE:
            value = _said(self.instance, key, self.owner)
            if isinstance(value, (tuple, set, frozenset)):
                value = list(value)
            if value is not None:
                about[key] = [value] if key in _LISTS and isinstance(value, str) else value
        return about

    def _config_schema(self) -> dict[str, Any]:
        schema = _said(self.instance, "get_config_schema", self.owner)
        if schema is None:
            schema = _said(self.instance, "config_schema", self.owner)
        if schema is not None and not isinstance(schema, dict):
            raise PluginMistake(f"{self.owner}.get_config_schema returned {type(schema).__name__}; expected a mapping")
        return schema or {}

    def _history(self) -> dict[str, Any]:
        declared = _said(self.instance, "history", self.owner)
        declared = dict(declared) if isinstance(declared, dict) else {}
        wanted: dict[str, Any] = {}
        for name, method in self.methods.items():
            marked = getattr(method.function, "__orlop_history__", declared.pop(name, None))
            if marked is not None:
                wanted[name] = _amount(marked, method.where)
            elif method.hook.lists and not method.names & {*method.hook.lists, "session", "context"}:
                wanted[name] = "none"
        if declared:
            raise PluginMistake(
                f"{self.owner}.history names {', '.join(sorted(declared))}, and has no such hook; "
                f"it has: {', '.join(self.methods)}"
            )
        return wanted

    def doubts(self) -> Iterator[str]:
        """What looks like a hook and never will be called."""
        known = HOOKS[self.kind]
        for name in sorted(vars(type(self.instance))):
            if name not in _ANY_HOOK or name in known or (name == "process_chunk" and self.own_chunks):
                continue
            kinds = [kind for kind in KINDS if name in HOOKS[kind]]
            yield (
                f"{self.owner}.{name} is a hook of {' and '.join(kinds)} plugins, but this is a {self.kind} plugin, "
                f'so it is never called; set kind = "{kinds[0]}" if that is what it should be'
            )
        # Where methods tell the kind, the one that would have told another may be the one that is misspelt.
        is_said = isinstance(getattr(self.instance, "kind", None), str)
        yield from _typos(type(self.instance), known if is_said else {*known, *_LONG_HOOKS})


def _typos(cls: type, known: Iterable[str]) -> Iterator[str]:
    """Methods that are nearly one of these hooks."""
    no_hooks = {"get_config_schema", *_TABLE, *_ANY_HOOK}
    for name in sorted(vars(cls)):
        if name.startswith("_") or name in no_hooks or not callable(getattr(cls, name)):
            continue
        from difflib import get_close_matches  # most plugins do not need it

        for close in get_close_matches(name, known, 1, 0.85):
            yield f"{cls.__name__}.{name} is no hook, so it is never called; did you mean {close}?"


def strays(module: Any) -> list[str]:
    """Classes that are no plugins, with methods that are nearly hooks."""
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    own = [cls for cls in classes if cls.__module__ == module.__name__ and not _is_plugin(cls, module.__name__)]
    return [doubt for cls in own if not cls.__name__.startswith("_") for doubt in _typos(cls, _LONG_HOOKS)]


def _amount(wanted: Any, where: str) -> Any:
    if isinstance(wanted, int) and not isinstance(wanted, bool) and wanted >= 0:
        return {"tail": wanted} if wanted else "none"
    if wanted in ("none", "full") or (isinstance(wanted, dict) and set(wanted) == {"tail"}):
        return wanted
    raise PluginMistake(f'history of {where} is {wanted!r}; expected "none", "full" or a number of items')


def _said(instance: Any, key: str, owner: str) -> Any:
    """An attribute, or what the method of that name returns."""
    value = getattr(instance, key, None)
    if not callable(value) or isinstance(value, type):
        return value
    try:
        return value()
    except Exception as error:
        log_trace(error, f"{owner}.{key}")
        raise PluginMistake(f"{owner}.{key}: {describe(error)}") from error


def classify(cls: type) -> str:
    """The kind of a class: what it says, else what its methods make it."""
    said = getattr(cls, "kind", None)
    if isinstance(said, str):
        if said not in KINDS:
            raise PluginMistake(f"{cls.__name__}.kind is {said!r}; expected one of: {', '.join(KINDS)}")
        return said
    has = lambda name: callable(getattr(cls, name, None))  # noqa: E731
    if has("call_api") or has("stream_api"):
        return "provider"
    if has("get_tool_schemas") and has("execute_tool"):
        return "tool"
    if has("process_chunk"):
        return "extension"
    if _first_parameter(cls, "execute_action") in ("app", "application") or _first_parameter(cls, "init") == "app_config":
        return "application"
    if any(map(has, _HOST_MARKS)) or (has("start") and not any(map(has, HOOKS["feature"]))):
        return "host"
    return "feature"


def _first_parameter(cls: type, method: str) -> Optional[str]:
    function = getattr(cls, method, None)
    if not callable(function):
        return None
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    return names[0] if names else None


def _is_plugin(cls: type, module: str) -> bool:
    """Whether a class of a module is a plugin, and not a helper beside one."""
    if cls.__module__ != module or cls.__name__.startswith("_") or inspect.isabstract(cls):
        return False
    if issubclass(cls, BaseException) or getattr(cls, "_is_protocol", False):
        return False
    if isinstance(getattr(cls, "kind", None), str) or isinstance(getattr(cls, "name", None), str):
        return True
    return any(callable(getattr(cls, name, None)) for name in _ANY_HOOK - {"init", "start", "stop"})


def find(module: Any, config: dict[str, Any], package: str) -> list[Plugin]:
    """The plugins of a module, in the order in which they are written."""
    found: list[Plugin] = []
    functions: list[Any] = []
    for value in list(vars(module).values()):
        if isinstance(value, type) and _is_plugin(value, module.__name__):
            found.append(Plugin(_make(value, config), classify(value), value.__name__, value.__name__))
        elif is_tool_function(value) and value.__module__ == module.__name__:
            functions.append(value)
    if functions:
        found.append(Plugin(FunctionTools(functions), "tool", package, package))
    if not found:
        hint = next(iter(strays(module)), "write a class with a `name` and hooks, or a function with `@orlop.tool`")
        raise PluginMistake(f"{module.__file__} has no plugin: {hint}")
    taken: set[tuple[str, str]] = set()
    for plugin in found:
        if (plugin.kind, plugin.name) in taken:
            raise PluginMistake(f"there are two {plugin.kind} plugins named {plugin.name!r}; give them different names")
        taken.add((plugin.kind, plugin.name))
    return found


def _make(cls: type, config: dict[str, Any]) -> Any:
    parameters = inspect.signature(cls).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    if needed not in ([], ["config"]):
        raise PluginMistake(f"{cls.__name__}() needs {', '.join(needed)}; a plugin is made without arguments, or with `config`")
    try:
        return cls(config) if needed else cls()
    except Exception as error:
        log_trace(error, f"{cls.__name__}()")
        raise PluginMistake(f"{cls.__name__}(): {describe(error)}") from error


def load(path: str) -> Any:
    """Imports a plugin: a file, or a folder with ``plugin.py`` or a package."""
    place = Path(path).absolute()
    folder = place if place.is_dir() else place.parent
    if place.is_dir():
        inner = [place / "plugin.py", place / "__init__.py", place / place.name / "__init__.py"]
        inner += [place / f"{place.name.replace('-', '_')}.py"]
        file = next((candidate for candidate in inner if candidate.is_file()), None)
        if file is None:
            raise PluginMistake(f"{path} has no plugin.py and is no package")
    elif place.is_file():
        file = place
    else:
        raise PluginMistake(f"{path} does not exist")
    is_package = file.name == "__init__.py"
    name = (file.parent.name if is_package else file.stem).replace("-", "_").replace(".", "_")
    if is_package and file.parent == folder:
        folder = folder.parent
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    name = name if name not in sys.modules else f"{name}_plugin"
    search = [str(file.parent)] if is_package else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=search)
    if spec is None or spec.loader is None:
        raise PluginMistake(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        log_trace(error, str(file))
        raise PluginMistake(f"{file.name} cannot be loaded: {_located(error)}") from error
    return module


def _located(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    return describe(error)
