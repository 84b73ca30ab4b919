"""Sessions and messages as plugins see them."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, Optional

from .errors import Error
from .lists import History
from .values import copy_json, same

class Message:
    """One message: who speaks, and what."""

    __slots__ = ("role", "content", "metadata", "multipart_content", "tool_result")

    def __init__(
        self,
        role: str,
        content: Any = "",
        metadata: Optional[dict[str, Any]] = None,
        multipart_content: Optional[list[dict[str, Any]]] = None,
        tool_result: Optional[dict[str, Any]] = None,
    ) -> None:
        self.role = role
        self.content = content
        self.metadata: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
        self.multipart_content = multipart_content
        self.tool_result = tool_result

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Message":
        """A message from its mapping."""
        parts = fields.get("multipartContent", fields.get("multipart_content"))
        metadata = fields.get("metadata")
        return cls(fields.get("role", "user"), fields.get("content", ""), metadata, parts, fields.get("tool_result"))

    def to_dict(self) -> dict[str, Any]:
        """The message as a mapping; what it does not have is left out."""
        fields: dict[str, Any] = {"role": self.role, "content": self.content, "metadata": self.metadata}
        if self.multipart_content:
            fields["multipartContent"] = self.multipart_content
        if self.tool_result is not None:
            fields["tool_result"] = self.tool_result
        return fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and same(self.to_dict(), other.to_dict())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Message({self.role!r}, {self.content!r})"


def message_dict(message: Any) -> Any:
    """A message as a mapping with the fields that must be there, whatever it was written as."""
    if isinstance(message, Message):
        return message.to_dict()
    if isinstance(message, dict) and "role" in message and "metadata" not in message:
        return {**message, "metadata": {}}
    return message


class Session:
    """A conversation. Operations of the core give a new one and leave this one as it is.

    What came from the host and was not changed goes back as a handle, whole and at no cost.
    """

    __slots__ = ("session_id", "_messages", "_metadata", "_origin", "__weakref__")

    def __init__(
        self,
        session_id: str,
        messages: Iterable[Any] = (),
        metadata: Optional[dict[str, Any]] = None,
    ) -> None:
        self.session_id = session_id
        self._messages: Optional[list[Any]] = [
            message if isinstance(message, Message) else Message.from_dict(message) for message in messages
        ]
        self._metadata: Optional[dict[str, Any]] = dict(metadata or {})
        self._origin: Optional[_Origin] = None

    @classmethod
    def received(cls, fields: Mapping[str, Any], messages: History, native: Optional[History]) -> "Session":
        """A session that the host lends."""
        session = cls.__new__(cls)
        session.session_id = fields.get("session_id", "")
        session._messages = session._metadata = None
        session._origin = _Origin(fields["handle"], fields.get("metadata") or {}, messages, native)
        return session

    @property
    def messages(self) -> list[Message]:
        """The messages. ``session.skip`` says how many before them were not asked for."""
        if self._messages is None:
            self._messages = [Message.from_dict(item) for item in self._given().messages]
        return self._messages

    @property
    def metadata(self) -> dict[str, Any]:
        """What is kept with the session, ``native_messages`` included."""
        if self._metadata is None:
            origin = self._given()
            self._metadata = copy_json(origin.metadata)
            if origin.native is not None:
                self._metadata["native_messages"] = origin.native
        return self._metadata

    @property
    def skip(self) -> int:
        """How many messages before those in ``messages`` were not asked for."""
        return self._origin.messages.skip if self._origin else 0

    @property
    def handle(self) -> Optional[str]:
        """By which the host knows it, if it came from there."""
        return self._origin.handle if self._origin else None

    def _given(self) -> "_Origin":
        if self._origin is None:
            raise Error("the session has no messages yet", "bad_state")
        return self._origin

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Session":
        """A session from its mapping."""
        return cls(fields.get("session_id", ""), fields.get("messages") or (), fields.get("metadata"))

    def to_dict(self) -> dict[str, Any]:
        """The session as a mapping."""
        if self._messages is None:
            messages: list[Any] = History(self._given().messages._raw(), self.skip)
        else:
            messages = [message.to_dict() for message in self._messages]
        return {"session_id": self.session_id, "messages": messages, "metadata": self.metadata}

    def to_wire(self) -> dict[str, Any]:
        """How it goes back to the host."""
        origin = self._origin
        if origin is None:
            return self.to_dict()
        messages, native = origin.messages_changed(self._messages), origin.native_changed(self._metadata)
        if not messages and not native:
            described: dict[str, Any] = {"handle": origin.handle}
            metadata = {k: v for k, v in (self._metadata or {}).items() if k != "native_messages"}
            if self._metadata is not None and not same(metadata, origin.metadata):
                described["metadata"] = metadata
            return {"$session": described}
        if origin.messages.skip or (origin.native is not None and origin.native.skip):
            raise Error(
                f"session {self.session_id} was changed, but only its last messages are here; "
                'declare history "full" for this hook, or change it with core.add_message and the like',
                "bad_state",
            )
        plain = self.to_dict()
        if messages and not native:
            # It belongs to the messages that were there before; the host makes it anew.
            plain["metadata"] = {k: v for k, v in self.metadata.items() if k != "native_messages"}
        return plain

    def __repr__(self) -> str:
        return f"Session({self.session_id!r})"


class _Origin:
    """What the host lent, to see whether it was changed."""

    __slots__ = ("handle", "metadata", "messages", "native")

    def __init__(self, handle: str, metadata: dict[str, Any], messages: History, native: Optional[History]) -> None:
        self.handle = handle
        self.metadata = metadata
        self.messages = messages
        self.native = native

    def messages_changed(self, messages: Optional[list[Any]]) -> bool:
        if messages is None:
            return False
        before = [_normal(item) for item in self.messages._given]
        return not same([message_dict(message) for message in messages], before)

    def native_changed(self, metadata: Optional[dict[str, Any]]) -> bool:
        if metadata is None:
            return False
        native = metadata.get("native_messages")
        if self.native is None or native is None:
            return native is not self.native
        return not isinstance(native, list) or self.native.change(native) is not None


def _normal(item: Any) -> dict[str, Any]:
    return Message.from_dict(item).to_dict()
