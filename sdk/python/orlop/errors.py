"""Failures: those a plugin reports, and how any exception is told to the host."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


class Error(Exception):
    """A failure that says what happened and what to do.

    ``error_class`` is one of Orlop's: ``bad_argument``, ``not_found``, ``unavailable``, ``conflict``,
    ``bad_state``, ``cancelled``, ``internal``. What the host refuses arrives as this, too.
    ``context_overflow`` of a provider says that the conversation is too long for the model: it is made shorter
    and sent again.
    """

    def __init__(
        self, message: str, error_class: str = "internal", *, retryable: bool = False, context_overflow: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_class = error_class
        self.retryable = retryable
        self.context_overflow = context_overflow


class Cancelled(Error):
    """Nobody waits for this call any more."""

    def __init__(self, message: str = "the call was cancelled") -> None:
        super().__init__(message, "cancelled")


class PluginMistake(Error):
    """Something in the source of the plugin has to be changed."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "plugin")


class UnknownMethod(Error):
    """The host asked for something that is not there."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "not_found")


_CLASSES: tuple[tuple[type[BaseException], str, bool], ...] = (
    (PermissionError, "bad_state", False),
    (FileNotFoundError, "not_found", False),
    (KeyError, "not_found", False),
    (ConnectionError, "unavailable", True),
    (TimeoutError, "unavailable", True),
    (ValueError, "bad_argument", False),
)


def as_json_rpc(error: BaseException, where: str) -> dict[str, Any]:
    """The error object of an answer. ``where`` is class and method."""
    if isinstance(error, Error):
        data: dict[str, Any] = {"class": error.error_class}
        if error.retryable:
            data["retryable"] = True
        if error.context_overflow:
            data["context_overflow"] = True
        code = -32601 if isinstance(error, UnknownMethod) else -32000
        return {"code": code, "message": error.message, "data": data}
    if error.__class__.__name__ == "CancelledError":
        return as_json_rpc(Cancelled(), where)
    name, retryable = next(
        ((name, retry) for kind, name, retry in _CLASSES if isinstance(error, kind)),
        ("plugin", False),
    )
    data = {"class": name, "retryable": True} if retryable else {"class": name}
    return {"code": -32000, "message": f"{where}: {describe(error)}", "data": data}


def describe(error: BaseException) -> str:
    """An exception in one line, without the quotes that ``KeyError`` puts around its text."""
    said = error.args[0] if isinstance(error, KeyError) and error.args else error
    text = " ".join(str(said).split())
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def log_trace(error: BaseException, where: str) -> None:
    """Writes the stack trace to the log, without the frames of the SDK."""
    if isinstance(error, Cancelled) or error.__class__.__name__ == "CancelledError":
        return
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith((_HERE, "<frozen importlib"))]
    if isinstance(error, (PluginMistake, UnknownMethod)) and not own:
        lines = [error.message, "\n"]
    else:
        lines = [f"{where} failed:\n", *traceback.format_list(own or frames)]
        lines += traceback.format_exception_only(type(error), error)
    sys.stderr.write("".join(lines))
    sys.stderr.flush()
