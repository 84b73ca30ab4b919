import unittest
from datetime import datetime, timedelta, timezone

from src.tides.table import rows

BREST = timezone(timedelta(hours=1))


class TableTest(unittest.TestCase):
    def test_times_are_local(self):
        self.assertEqual(rows([(datetime(2026, 3, 29, 5, 12), 7.1)], BREST), ["06:12   7.1 m"])

    def test_rows_stand_in_order(self):
        noon, dawn = datetime(2026, 3, 29, 11), datetime(2026, 3, 29, 5)
        self.assertEqual(rows([(noon, 1.9), (dawn, 7.0)], BREST)[0], "06:00   7.0 m")
