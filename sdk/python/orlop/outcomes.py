"""What a method returned, made into the outcome of its hook.

Each reader takes the inputs of the call and the returned value. Returned lists and states may be
whole; the host is told what changed. A value that cannot be meant is refused in a sentence.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from .lists import History
from .sessions import message_dict
from .values import copy_json, same, state_change


class Inputs:
    """The arguments of a call, and what they were before the plugin had them."""

    __slots__ = ("values", "lists", "state_before", "state", "method", "names")

    def __init__(self, method: str, values: dict[str, Any], names: frozenset[str]) -> None:
        self.method = method
        self.values = values
        self.names = names
        self.lists: dict[str, History] = {}
        self.state_before: dict[str, Any] = {}
        self.state: Any = None

    def list_change(self, name: str, returned: Any) -> Any:
        """The change of a list: from what was returned, or from what was done to the one lent."""
        lent = self.lists[name]
        if returned is None:
            return self._checked(name, lent.change(lent))
        if isinstance(returned, dict) and isinstance(returned.get("edits"), list):
            return returned
        if not isinstance(returned, (list, tuple)):
            raise wrong(self, returned, f"{name} as a list")
        if name == "messages" and not isinstance(returned, History):
            returned = [message_dict(item) for item in returned]
        return self._checked(name, lent.change(returned))

    def _checked(self, name: str, change: Any) -> Any:
        for edit in change["edits"] if change else ():
            for position, item in enumerate(edit["items"]):
                if not isinstance(item, dict):
                    item = edit["items"][position] = message_dict(item)
                if not isinstance(item, dict):
                    raise wrong(self, item, f"mappings in {name}")
        return change

    def state_outcome(self, returned: Any) -> Any:
        """The change of the state: from what was returned, or from what was done to the one lent."""
        if returned is None:
            returned = self.state
        if returned == "keep":
            return "keep"
        if returned is not None and not isinstance(returned, dict):
            raise wrong(self, returned, "the state as a mapping")
        return state_change(self.state_before, returned)

    def next_state(self, returned: Any) -> Any:
        """As ``state_outcome``, for methods that go on: later changes count from here."""
        change = self.state_outcome(returned)
        if change != "keep" and change is not returned:
            self.state = returned
            self.state_before = copy_json(returned)
        return change


Reader = Callable[[Inputs, Any], Any]


def wrong(inputs: Inputs, returned: Any, expected: str) -> Exception:
    """The mistake of a method that returned something else."""
    from .errors import PluginMistake

    return PluginMistake(f"{inputs.method} returned {shown(returned)}; expected {expected}")


def shown(value: Any) -> str:
    """A value for people: its type, and a little of it."""
    if value is None:
        return "None"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def state_only(inputs: Inputs, returned: Any) -> Any:
    """``init``: the new state."""
    return inputs.state_outcome(returned)


def plain_state(inputs: Inputs, returned: Any) -> Any:
    """``init`` of an application plugin: any JSON."""
    return {} if returned is None else returned


def anything(inputs: Inputs, returned: Any) -> Any:
    """Whatever it is."""
    return returned


def nothing(inputs: Inputs, returned: Any) -> None:
    """Nobody looks."""
    return None


def text(inputs: Inputs, returned: Any) -> str:
    """A text; nothing is the empty one."""
    if returned is None:
        return ""
    if not isinstance(returned, str):
        raise wrong(inputs, returned, "a text")
    return returned


def joined_text(inputs: Inputs, returned: Any) -> str:
    """A text, or several to be put below each other."""
    if isinstance(returned, (list, tuple)) and all(isinstance(item, str) for item in returned):
        return "\n".join(returned)
    return text(inputs, returned)


def optional_text(inputs: Inputs, returned: Any) -> Optional[str]:
    """A text or nothing."""
    return None if returned is None else text(inputs, returned)


def optional_bool(inputs: Inputs, returned: Any) -> Optional[bool]:
    """True, False, or no opinion."""
    if returned is not None and not isinstance(returned, bool):
        raise wrong(inputs, returned, "True, False or None")
    return returned


def texts(inputs: Inputs, returned: Any) -> list[str]:
    """Texts; one is a list of one."""
    items = [returned] if isinstance(returned, str) else _items(inputs, returned, "a list of texts")
    if not all(isinstance(item, str) for item in items):
        raise wrong(inputs, returned, "a list of texts")
    return items


def values(inputs: Inputs, returned: Any) -> list[Any]:
    """A list."""
    return _items(inputs, returned, "a list")


def optional_values(inputs: Inputs, returned: Any) -> Optional[list[Any]]:
    """A list, or nothing for unchanged."""
    return None if returned is None else _items(inputs, returned, "a list")


def mappings(inputs: Inputs, returned: Any) -> list[Any]:
    """Mappings; one is a list of one."""
    items = [returned] if isinstance(returned, dict) else _items(inputs, returned, "a list of mappings")
    for item in items:
        if not isinstance(item, dict):
            raise wrong(inputs, item, "a list of mappings")
    return items


def with_key(key: str) -> Reader:
    """Mappings that all have a key."""

    def read(inputs: Inputs, returned: Any) -> list[Any]:
        items = mappings(inputs, returned)
        for item in items:
            if not isinstance(item.get(key), str) or not item[key]:
                raise wrong(inputs, item, f"mappings with `{key}`")
        return items

    return read


def schemas(inputs: Inputs, returned: Any) -> list[Any]:
    """Tool schemas of any format; all have a name somewhere."""
    items = mappings(inputs, returned)
    for item in items:
        inner = item.get("function")
        named = item.get("name") or (inner.get("name") if isinstance(inner, dict) else None)
        if not named and "type" not in item and "functionDeclarations" not in item:
            raise wrong(inputs, item, "tool schemas with `name`, `description` and `parameters`")
    return items


def models(inputs: Inputs, returned: Any) -> list[Any]:
    """Models; a text is the id of one."""
    items = _items(inputs, returned, "a list of models")
    return mappings(inputs, [{"id": item} if isinstance(item, str) else item for item in items])


def native_items(inputs: Inputs, returned: Any) -> list[Any]:
    """``to_native_messages`` of a provider: all items."""
    if returned is None:
        raise wrong(inputs, returned, "a list of native items")
    return mappings(inputs, returned)


def messages(inputs: Inputs, returned: Any) -> list[Any]:
    """``from_native_messages`` of a provider: all messages."""
    if returned is None:
        raise wrong(inputs, returned, "a list of messages")
    items = [message_dict(item) for item in _items(inputs, returned, "a list of messages")]
    for item in items:
        if not isinstance(item, dict) or "role" not in item:
            raise wrong(inputs, item, "messages with `role` and `content`")
        item.setdefault("content", "")
    return items


def native_change(inputs: Inputs, returned: Any) -> Any:
    """Another list of native items."""
    return inputs.list_change("native_messages", returned)


def message_change(inputs: Inputs, returned: Any) -> Any:
    """Another list of messages."""
    return inputs.list_change("messages", returned)


def request_change(inputs: Inputs, returned: Any) -> Any:
    """``initialize_request``: ``(native_messages, state)``, one of them, or nothing."""
    native: Any = None
    state: Any = None
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise wrong(inputs, returned, "(native_messages, state)")
        native, state = returned
    elif isinstance(returned, list):
        native = returned
    elif isinstance(returned, dict) and returned and set(returned) <= {"native_messages", "state"}:
        native, state = returned.get("native_messages"), returned.get("state")
    elif isinstance(returned, dict) and set(returned) == {"edits"}:
        native = returned
    elif isinstance(returned, dict):
        state = returned
    elif returned is not None:
        raise wrong(inputs, returned, "(native_messages, state)")
    native, state = inputs.list_change("native_messages", native), inputs.state_outcome(state)
    if native is None and state == "keep":
        return None
    return {"native_messages": native, "state": state}


def finalize_change(inputs: Inputs, returned: Any) -> Any:
    """``finalize``: ``(final_messages, native_messages, state)``, a mapping of some, or nothing."""
    finals, native, state = _three(inputs, returned)
    return _finalized(inputs, inputs.list_change("final_messages", finals), native, state)


def provider_finalize(inputs: Inputs, returned: Any) -> Any:
    """``finalize`` of a provider: its finals are further ones, unless it was shown those there are."""
    finals, native, state = _three(inputs, returned)
    if "final_messages" in inputs.names or isinstance(finals, dict):
        change = inputs.list_change("final_messages", finals)
    else:
        items = mappings(inputs, finals)
        change = {"edits": [{"op": "append", "items": items}]} if items else None
    return _finalized(inputs, change, native, state)


def _three(inputs: Inputs, returned: Any) -> tuple[Any, Any, Any]:
    if returned is None:
        return None, None, None
    if isinstance(returned, tuple) and len(returned) == 3:
        return returned
    if isinstance(returned, list):
        return returned, None, None
    if isinstance(returned, dict) and set(returned) <= {"final_messages", "native_messages", "state"}:
        return returned.get("final_messages"), returned.get("native_messages"), returned.get("state")
    raise wrong(inputs, returned, "(final_messages, native_messages, state)")


def _finalized(inputs: Inputs, finals: Any, native: Any, state: Any) -> Any:
    native, state = inputs.list_change("native_messages", native), inputs.state_outcome(state)
    if finals is None and native is None and state == "keep":
        return None
    return {"final_messages": finals, "native_messages": native, "state": state}


def model_answer(inputs: Inputs, returned: Any) -> Any:
    """``call_api``: ``(partials, final_messages, native_messages, state)``, or the finals alone."""
    expected = "(partials, final_messages, native_messages, state)"
    partials: Any = []
    native: Any = None
    state: Any = None
    if returned is None:
        return None
    if isinstance(returned, str):
        finals: Any = [{"role": "assistant", "content": returned}]
    elif isinstance(returned, tuple) and len(returned) == 4:
        partials, finals, native, state = returned
    elif isinstance(returned, dict) and ("final_messages" in returned or "partials" in returned):
        partials, finals = returned.get("partials"), returned.get("final_messages")
        native, state = returned.get("native_messages"), returned.get("state")
    elif isinstance(returned, dict):
        finals = [returned]
    elif isinstance(returned, list):
        finals = returned
    else:
        raise wrong(inputs, returned, expected)
    finals = mappings(inputs, finals)
    change = inputs.list_change("native_messages", native)
    # The host adds the finals to what was sent by itself.
    if change is not None and same(change, {"edits": [{"op": "append", "items": finals}]}):
        change = None
    partials = [partial(inputs, item) for item in partials or []]
    answer = {"partials": partials, "final_messages": finals, "native_messages": change}
    return {**answer, "state": inputs.state_outcome(state)}


def partial(inputs: Inputs, value: Any) -> dict[str, Any]:
    """A piece of an answer."""
    if isinstance(value, str):
        return {"role": "assistant", "content": value}
    if isinstance(value, dict) and isinstance(value.get("content", ""), str):
        return {"content": "", **value, "role": "assistant"}
    raise wrong(inputs, value, "a text, or a mapping with `content`")


def chunk(inputs: Inputs, value: Any) -> dict[str, Any]:
    """What ``stream_api`` yields: a text, a partial, finals, or a chunk with several of these."""
    if isinstance(value, tuple) and len(value) == 2:
        return {**chunk(inputs, value[0]), "state": inputs.next_state(value[1])}
    if isinstance(value, list):
        return {"final_messages": mappings(inputs, value)}
    if isinstance(value, str):
        return {"partial": partial(inputs, value)}
    if isinstance(value, dict):
        if value.get("type") == "partial" and "message" in value:
            return {"partial": partial(inputs, value["message"])}
        if value.get("type") == "final_messages" and "messages" in value:
            return {"final_messages": mappings(inputs, value["messages"])}
        if set(value) & {"partial", "final_messages", "state"}:
            made: dict[str, Any] = {}
            if value.get("partial") is not None:
                made["partial"] = partial(inputs, value["partial"])
            if value.get("final_messages"):
                made["final_messages"] = mappings(inputs, value["final_messages"])
            if value.get("state") is not None:
                made["state"] = inputs.next_state(value["state"])
            return made
        if "content" in value and value.get("role", "assistant") == "assistant":
            return {"partial": partial(inputs, value)}
    raise wrong(inputs, value, "a text, {'partial': ...} or {'final_messages': [...]}")


def processed_chunk(inputs: Inputs, returned: Any) -> Any:
    """``process_chunk``: the chunk, or the chunk and the state."""
    state: Any = None
    if isinstance(returned, tuple) and len(returned) == 2:
        returned, state = returned
    made = chunk(inputs, inputs.values["chunk"] if returned is None else returned)
    change = inputs.state_outcome(state)
    if change != "keep":
        made["state"] = _both(made.get("state", "keep"), change)
    return None if _same_chunk(made, inputs.values["_before"]) else made


def _both(first: Any, then: Any) -> Any:
    """Two changes of the state as one."""
    if not isinstance(first, dict) or "patch" not in first or "patch" not in then:
        return then
    return {"patch": _laid_over(first["patch"], then["patch"])}


def _laid_over(first: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    merged = dict(first)
    for key, value in then.items():
        held = merged.get(key)
        both = isinstance(held, dict) and isinstance(value, dict)
        merged[key] = _laid_over(held, value) if both else value
    return merged


def _same_chunk(a: dict[str, Any], b: dict[str, Any]) -> bool:
    keys = (("partial", None), ("final_messages", []), ("state", "keep"))
    return all(same(a.get(key, absent) or absent, b.get(key, absent) or absent) for key, absent in keys)


def report(inputs: Inputs, returned: Any) -> dict[str, Any]:
    """``execute_tool``: a mapping with ``success``; a text is the output of one that succeeded."""
    if isinstance(returned, dict):
        if "success" not in returned:
            return {"success": "error" not in returned, **returned}
        return {**returned, "success": bool(returned["success"])}
    if isinstance(returned, str):
        return {"success": True, "output": returned}
    raise wrong(inputs, returned, "a mapping with `success`, or a text")


def tool_part(inputs: Inputs, value: Any) -> dict[str, Any]:
    """What ``stream_tool`` yields: a part for people, or the report."""
    if isinstance(value, dict):
        if "success" in value:
            return report(inputs, value)
        return value if "part" in value else {"part": value}
    return {"part": value}


def action_result(inputs: Inputs, returned: Any) -> dict[str, Any]:
    """``execute_action`` on a session."""
    result = application_result(inputs, returned)
    change = inputs.list_change("native_messages", result.pop("native_messages", None))
    if change is not None:
        result["native_messages"] = change
    if result.get("final_messages") is not None:
        result["final_messages"] = messages(inputs, result["final_messages"])
    return result


def application_result(inputs: Inputs, returned: Any) -> dict[str, Any]:
    """``execute_action`` of an application plugin; a text is the message."""
    if returned is None:
        return {}
    if isinstance(returned, str):
        return {"message": returned}
    if not isinstance(returned, dict):
        raise wrong(inputs, returned, "a mapping")
    return dict(returned)


def interception(inputs: Inputs, returned: Any) -> Any:
    """``intercept_chat_request``: nothing, an answer, or ``{"rewrite": ...}``."""
    if isinstance(returned, str):
        return {"text": returned}
    if returned is not None and not isinstance(returned, dict):
        raise wrong(inputs, returned, "None, a text, {'text': ...} or {'rewrite': ...}")
    return returned


def gate(inputs: Inputs, returned: Any) -> Any:
    """``before_tool_call``: allow, rewrite, ask or deny."""
    if returned is None or returned is True or returned == "allow":
        return "allow"
    if returned is False or returned == "deny":
        return {"deny": f"{inputs.method.partition('.')[0]} does not allow this call"}
    if returned == "ask":
        return {"ask": f"{inputs.method.partition('.')[0]} wants a person to decide"}
    if isinstance(returned, dict) and len(returned) == 1 and set(returned) <= {"rewrite", "ask", "deny"}:
        return returned
    raise wrong(inputs, returned, "True, False, {'rewrite': input}, {'ask': reason} or {'deny': reason}")


def _items(inputs: Inputs, returned: Any, expected: str) -> list[Any]:
    if returned is None:
        return []
    if isinstance(returned, (list, tuple)) or (hasattr(returned, "__next__")):
        return list(returned)
    raise wrong(inputs, returned, expected)
