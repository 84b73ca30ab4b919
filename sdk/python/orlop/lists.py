"""Lists of messages and native items: remembered between calls, lent to plugins, compared when
they come back.

A plugin may change a lent list and its items as it likes. Items are copied when it looks at them,
so that what is remembered stays as it was and what nobody looks at costs nothing.
"""

from __future__ import annotations

from operator import is_
from typing import Any, Iterable, Iterator

from .values import copy_json, same


class History(list):  # type: ignore[type-arg]
    """A list as a plugin gets it. ``skip`` is how many items before these were not asked for."""

    __slots__ = ("skip", "_given", "_copies", "_set", "_moved")

    def __init__(self, given: Iterable[Any] = (), skip: int = 0) -> None:
        given = given if given.__class__ is list else list(given)
        list.__init__(self, given)
        self.skip = skip
        self._given: list[Any] = given  # type: ignore[assignment]
        self._copies: dict[int, Any] = {}
        self._set: set[int] = set()
        self._moved = False

    def _copy_at(self, position: int) -> Any:
        item = list.__getitem__(self, position)
        # An item that is still the one given was not looked at before.
        if position < len(self._given) and item is self._given[position]:
            item = copy_json(item)
            list.__setitem__(self, position, item)
            self._copies[position] = item
        return item

    def _copy_range(self, positions: Iterable[int]) -> None:
        for position in positions:
            self._copy_at(position)

    def _copy_all(self) -> None:
        if len(self._copies) < len(self._given):
            self._copy_range(range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            self._copy_range(range(*key.indices(len(self))))
            return list.__getitem__(self, key)
        position = key.__index__()
        if position < 0:
            position += len(self)
        if not 0 <= position < len(self):
            raise IndexError("list index out of range")
        return self._copy_at(position)

    def __iter__(self) -> Iterator[Any]:
        self._copy_all()
        return list.__iter__(self)

    def __reversed__(self) -> Iterator[Any]:
        return (self._copy_at(position) for position in range(len(self) - 1, -1, -1))

    def __add__(self, other: Any) -> "History":  # type: ignore[override]
        joined = History(self._given, self.skip)
        joined._copies, joined._set, joined._moved = dict(self._copies), set(self._set), self._moved
        list.__setitem__(joined, slice(None), self._raw())
        list.extend(joined, other)
        return joined

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self]

    def __mul__(self, times: Any) -> list[Any]:  # type: ignore[override]
        return list(self) * times

    __rmul__ = __mul__  # type: ignore[assignment]

    def copy(self) -> list[Any]:
        return list(self)

    def __reduce_ex__(self, _protocol: Any) -> Any:
        return list, (list(self),)

    # Whatever moves items to other places looks at all of them first.

    def _move(self) -> None:
        self._copy_all()
        self._moved = True

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            self._move()
        list.__setitem__(self, key, value)
        if not isinstance(key, slice):
            self._set.add(key if key >= 0 else key + len(self))

    def __delitem__(self, key: Any) -> None:
        self._move()
        list.__delitem__(self, key)

    def __imul__(self, times: Any) -> "History":  # type: ignore[override,misc]
        self._move()
        list.__imul__(self, times)
        return self

    def insert(self, position: Any, item: Any) -> None:
        self._move()
        list.insert(self, position, item)

    def pop(self, position: Any = -1) -> Any:
        if position == -1:
            self[-1:]
            self._moved = self._moved or len(self) <= len(self._given)
        else:
            self._move()
        return list.pop(self, position)

    def remove(self, item: Any) -> None:
        self._move()
        list.remove(self, item)

    def reverse(self) -> None:
        self._move()
        list.reverse(self)

    def clear(self) -> None:
        self._move()
        list.clear(self)

    def sort(self, **options: Any) -> None:
        self._move()
        list.sort(self, **options)

    def _raw(self) -> list[Any]:
        return list.__getitem__(self, slice(None))

    def restored(self, returned: Any) -> list[Any]:
        """The items of a returned list; copies that were not changed are the given items again."""
        items = returned._raw() if isinstance(returned, History) else list(returned)
        given, moved = self._given, False
        copies = self._copies
        if isinstance(returned, History) and returned._given is given:
            copies = {**copies, **returned._copies}
        back: dict[int, Any] = {}
        for position, copy in copies.items():
            if not same(copy, given[position]):
                continue
            if position < len(items) and items[position] is copy:
                items[position] = given[position]
            else:
                back[id(copy)] = given[position]
                moved = True
        return [back.get(id(item), item) for item in items] if moved else items

    def change(self, returned: Any) -> Any:
        """What turns the list given into the list returned: ``None`` or edits."""
        if isinstance(returned, History) and returned._given is self._given and not returned._moved:
            return self._change_in_place(returned)
        given, items = self._given, self.restored(returned)
        start = _common(given, items)
        if start == len(given) == len(items):
            return None
        if start == len(given):
            return {"edits": [{"op": "append", "items": items[start:]}]}
        longest = min(len(given), len(items)) - start
        end = _common(given[: -longest - 1 : -1], items[: -longest - 1 : -1]) if longest else 0
        if len(given) != len(items):
            return {"edits": [self._replace(start, len(given) - end, items[start : len(items) - end])]}
        changed = [p for p in range(start, len(given) - end) if not same(given[p], items[p])]
        return {"edits": self._edits(changed, items)}

    def _change_in_place(self, returned: "History") -> Any:
        """Nothing moved, so only what was looked at or set can be different."""
        given, at = self._given, list.__getitem__
        touched = returned._set.union(returned._copies, self._copies)
        changed = sorted(p for p in touched if p < len(given) and not same(at(returned, p), given[p]))
        edits = self._edits(changed, returned)
        if len(returned) > len(given):
            edits.append({"op": "append", "items": at(returned, slice(len(given), None))})
        return {"edits": edits} if edits else None

    def _edits(self, changed: list[int], items: list[Any]) -> list[Any]:
        """Each run of changed positions is an edit."""
        edits: list[Any] = []
        first = 0
        for last, position in enumerate(changed):
            if last + 1 == len(changed) or changed[last + 1] != position + 1:
                start, end = changed[first], position + 1
                edits.append(self._replace(start, end, list.__getitem__(items, slice(start, end))))
                first = last + 1
        return edits

    def _replace(self, start: int, end: int, items: list[Any]) -> dict[str, Any]:
        return {"op": "replace", "start": start + self.skip, "end": end + self.skip, "items": items}


def _common(a: list[Any], b: list[Any]) -> int:
    """How many items at the beginning are the same."""
    for position, identical in enumerate(map(is_, a, b)):
        if not identical and not same(a[position], b[position]):
            return position
    return min(len(a), len(b))


class Slots:
    """What the host sent before, so that it need not send it again."""

    def __init__(self) -> None:
        self._held: dict[int, list[Any]] = {}

    def receive(self, described: dict[str, Any]) -> History:
        """A list from its description on the wire. Called in the order in which lines arrive."""
        items = described.get("items") or []
        slot = described.get("slot")
        if slot is None:
            return History(items, described.get("skip") or 0)
        held, keep = self._held.get(slot, []), described.get("keep") or 0
        if keep > len(held):
            raise ValueError(f"slot {slot} holds {len(held)} items, and {keep} of them are to be kept")
        # A held list is never changed: calls that are still running look at it.
        if keep == len(held):
            items = held + items if items else held
        elif keep:
            items = held[:keep] + items
        self._held[slot] = items
        return History(items)
