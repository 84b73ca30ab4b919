"""Application plugins, by the name of the module that plugins know."""

from orlop import ApplicationPlugin

__all__ = ["ApplicationPlugin"]
