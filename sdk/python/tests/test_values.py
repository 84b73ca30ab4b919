"""Copies, comparisons, changes of lists and states."""

from __future__ import annotations

import copy
import json
import random
import unittest

from orlop.lists import History, Slots
from orlop.testing import apply_change, apply_state
from orlop.values import same, state_change


def items(*numbers: int) -> list[dict]:
    return [{"n": number, "deep": {"list": [number]}} for number in numbers]


class Lists(unittest.TestCase):
    def check(self, change_it, expected: str, skip: int = 0) -> None:
        """What is done to the list [0, 1, 2, 3], as edits; the list that was given stays as it was."""
        given = items(0, 1, 2, 3)
        before = copy.deepcopy(given)
        lent = History(given, skip)
        returned = change_it(lent)
        change = lent.change(lent if returned is None else returned)
        edits = [] if change is None else change["edits"]
        said = [
            f"{e['op']} {e['start']}..{e['end']}: {[i.get('n') for i in e['items']]}" if e["op"] == "replace"
            else f"append {[i.get('n') for i in e['items']]}"
            for e in edits
        ]  # fmt: skip
        self.assertEqual("; ".join(said), expected)
        self.assertEqual(given, before)
        if not skip:
            self.assertEqual(apply_change(before, change), list(lent if returned is None else returned))

    def test_nothing_changed(self):
        self.check(lambda a: None, "")
        self.check(lambda a: list(a), "")
        self.check(lambda a: [dict(item) for item in a], "")
        self.check(lambda a: a[:], "")
        self.check(lambda a: copy.deepcopy(a), "")

    def test_changes_in_place(self):
        self.check(lambda a: a.append({"n": 9}), "append [9]")
        self.check(lambda a: a.__iadd__([{"n": 9}]) and None, "append [9]")
        self.check(lambda a: a[-1].update(n=9), "replace 3..4: [9]")
        self.check(lambda a: a[1]["deep"]["list"].append(5), "replace 1..2: [1]")
        self.check(lambda a: [item.update(n=7) for item in a if item["n"] in (0, 1, 3)] and None, "replace 0..2: [7, 7]; replace 3..4: [7]")
        self.check(lambda a: a.__setitem__(2, {"n": 9}), "replace 2..3: [9]")
        self.check(lambda a: a.insert(0, {"n": 9}), "replace 0..0: [9]")
        self.check(lambda a: a.pop() and None, "replace 3..4: []")
        self.check(lambda a: a.pop(0) and None, "replace 0..1: []")
        self.check(lambda a: a.clear(), "replace 0..4: []")
        self.check(lambda a: a.reverse(), "replace 0..4: [3, 2, 1, 0]")
        self.check(lambda a: a.sort(key=lambda item: -item["n"]), "replace 0..4: [3, 2, 1, 0]")
        self.check(lambda a: a.remove({"n": 1, "deep": {"list": [1]}}), "replace 1..2: []")
        self.check(lambda a: a.append(a.pop()) , "")

    def test_new_lists(self):
        self.check(lambda a: a + [{"n": 9}], "append [9]")
        self.check(lambda a: [*a, {"n": 9}], "append [9]")
        self.check(lambda a: [{"n": 9}] + a, "replace 0..0: [9]")
        self.check(lambda a: [{"n": 9}, *a[1:]], "replace 0..1: [9]")
        self.check(lambda a: a[:1] + a[3:], "replace 1..3: []")
        self.check(lambda a: a[2:], "replace 0..2: []")
        self.check(lambda a: [], "replace 0..4: []")

    def test_positions_count_from_the_start_of_the_whole_list(self):
        self.check(lambda a: a[1].update(n=9), "replace 101..102: [9]", skip=100)
        self.check(lambda a: a.append({"n": 9}), "append [9]", skip=100)

    def test_true_is_not_one(self):
        lent = History([{"flag": 1}])
        lent[0]["flag"] = True
        self.assertEqual(lent.change(lent)["edits"][0]["items"], [{"flag": True}])

    def test_it_is_a_list_for_everybody(self):
        lent = History(items(1, 2))
        self.assertIsInstance(lent, list)
        self.assertEqual(json.loads(json.dumps(lent)), items(1, 2))
        self.assertEqual([item["n"] for item in reversed(lent)], [2, 1])
        self.assertEqual(lent, items(1, 2))

    def test_random_changes_apply_to_the_same_list(self):
        chance = random.Random(6)
        for _ in range(400):
            given = items(*range(chance.randrange(8)))
            lent = History(copy.deepcopy(given))
            returned = lent
            for _ in range(chance.randrange(5)):
                at = chance.randrange(len(returned) + 1)
                match chance.randrange(7):
                    case 0:
                        returned.insert(at, {"n": 99})
                    case 1 if at < len(returned):
                        del returned[at]
                    case 2 if at < len(returned):
                        returned[at]["n"] = 50
                    case 3:
                        returned = returned + [{"n": 77}]
                    case 4 if at < len(returned):
                        returned[at] = {"n": 60}
                    case 5:
                        returned = list(returned)
                    case 6 if returned:
                        returned.pop()
            self.assertEqual(apply_change(given, lent.change(returned)), list(returned))


class Remembered(unittest.TestCase):
    def test_slots_keep_what_was_sent(self):
        slots = Slots()
        first = slots.receive({"slot": 3, "keep": 0, "items": items(1, 2)})
        first[0]["n"] = "damaged"
        self.assertEqual(slots.receive({"slot": 3, "keep": 2, "items": items(3)}), items(1, 2, 3))
        self.assertEqual(slots.receive({"slot": 3, "keep": 1, "items": []}), items(1))
        self.assertEqual(slots.receive({"slot": 3, "keep": 0, "items": []}), [])

    def test_a_slot_that_holds_less_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "slot 1 holds 0 items"):
            Slots().receive({"slot": 1, "keep": 2, "items": []})


class States(unittest.TestCase):
    def check(self, before: dict, after, expected) -> None:
        change = state_change(before, after)
        self.assertEqual(change, expected)
        if isinstance(after, dict) and "patch" not in after:
            kept = {key: before[key] for key in ("config", "request") if key in before}
            self.assertTrue(same(apply_state(before, change), {**kept, **after}))

    def test_patches(self):
        base = {"config": {"a": 1}, "request": {"m": 1, "tool": {"x": None}}, "mine": {"deep": {"b": 1, "c": 2}}}
        self.check(base, copy.deepcopy(base), "keep")
        self.check(base, {**base, "new": 1}, {"patch": {"new": 1}})
        self.check(base, {"config": {"a": 1}, "request": base["request"]}, {"patch": {"mine": None}})
        self.check(base, {**base, "mine": {"deep": {"b": 1, "c": 3}}}, {"patch": {"mine": {"deep": {"c": 3}}}})
        self.check(base, {**base, "mine": {"deep": {"b": 1}}}, {"patch": {"mine": {"deep": {"c": None}}}})
        self.check(base, {**base, "mine": [None]}, {"patch": {"mine": [None]}})
        self.check(base, {**base, "config": {"a": True}}, {"patch": {"config": {"a": True}}})

    def test_entries_of_the_request_are_set_whole(self):
        base = {"config": {}, "request": {"m": 1, "tool": {"x": 1}}}
        self.check(base, {**base, "request": {"m": 1, "tool": {"y": None}}}, {"patch": {"request": {"tool": {"y": None}}}})
        self.check(base, {**base, "request": {"tool": {"x": 1}}}, {"patch": {"request": {"m": None}}})

    def test_what_a_patch_cannot_say_is_replaced(self):
        base = {"config": {}, "request": {"m": 1}, "mine": {"a": 1}}
        for after in (
            {**base, "mine": {"a": None}},
            {**base, "mine": None},
            {**base, "request": {"m": None}},
            {**base, "new": {"deep": {"x": None}}},
        ):
            self.check(base, after, {"replace": after})

    def test_the_metadata_patch_keeps_its_nulls(self):
        base = {"config": {}, "request": {}}
        after = {**base, "session_metadata_patch": {"gone": None}}
        self.check(base, after, {"patch": {"session_metadata_patch": {"gone": None}}})
        more = {**base, "session_metadata_patch": {"gone": None, "x": 1, "overrides": {"model": "m"}}}
        self.check(after, more, {"patch": {"session_metadata_patch": {"x": 1, "overrides": {"model": "m"}}}})
        self.check(more, after, {"replace": after})

    def test_reserved_entries_are_not_lost(self):
        self.check({"config": {"a": 1}, "request": {}}, {"client": 1}, {"patch": {"client": 1}})

    def test_changes_may_be_written_by_hand(self):
        self.check({"config": {}}, {"patch": {"x": 1}}, {"patch": {"x": 1}})

    def test_random_states_come_out_the_same(self):
        chance = random.Random(7)

        def value(depth: int = 3):
            match chance.randrange(6 if depth else 4):
                case 0:
                    return None
                case 1:
                    return chance.choice([1, True, 1.0, "a"])
                case 2 | 3:
                    return chance.randrange(3)
                case 4:
                    return [value(depth - 1) for _ in range(chance.randrange(3))]
                case _:
                    return {key: value(depth - 1) for key in "abc" if chance.random() < 0.6}

        def mapping(depth: int = 2):
            return {key: value(depth) for key in "xyz" if chance.random() < 0.7}

        for _ in range(3000):
            before, after = ({"config": mapping(), "request": mapping(), **mapping()} for _ in range(2))
            if chance.random() < 0.5:
                after["session_metadata_patch"] = mapping()
                before["session_metadata_patch"] = mapping()
            change = state_change(before, after)
            self.assertTrue(same(apply_state(before, change), after), (before, after, change))


if __name__ == "__main__":
    unittest.main()
