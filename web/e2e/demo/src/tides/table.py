"""Rows of a printed tide table."""

from datetime import timezone


def format_row(height, at, zone):
    """One line: the local time and the height in metres."""
    local = at.replace(tzinfo=timezone.utc).astimezone(zone)
    return f"{local:%H:%M}  {height:4.1f} m"


def rows(predictions, zone):
    """The lines of a day, in the order of their times."""
    return [format_row(height, at + zone.utcoffset(at), zone) for at, height in sorted(predictions)]
