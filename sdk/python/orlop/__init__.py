"""Write plugins for Orlop in Python.

The shortest plugin is a function::

    import orlop

    @orlop.tool
    def add(a: float, b: float) -> float:
        '''Adds two numbers.'''
        return a + b

Everything else is a class with a ``name`` and the hooks it needs.
"""

# This file is read by every Python, so that an old one can say what is wrong: it has no syntax that Python 2.7
# does not know.

import os as _os
import sys as _sys

__version__ = "0.1.0"

if _sys.version_info < (3, 10):
    _sys.exit(
        "plugins need Python 3.10 or newer, and %s is %s; put a newer one first in PATH, "
        "or make a .venv in the plugin's folder" % (_sys.executable, ".".join(map(str, _sys.version_info[:3])))
    )

# `python3 -m orlop` looks for modules in the working folder first. Its files belong to somebody
# else, and one named `json.py` would be in the way.
if "-m" in _sys.orig_argv and _sys.orig_argv[_sys.orig_argv.index("-m") + 1] == "orlop":
    if _sys.path and _sys.path[0] in ("", _os.getcwd()):
        del _sys.path[0]

from .calls import Call, Cancellation, current
from .errors import Cancelled, Error
from .functions import tool
from .lists import History
from .plugins import history
from .proxies import App, Core
from .sessions import Message, Session


class ProviderPlugin:
    """Base of providers. Nobody needs one: methods tell the kind."""

    kind = "provider"


class ExtensionPlugin:
    """Base of extensions."""

    kind = "extension"


class FeaturePlugin:
    """Base of features."""

    kind = "feature"


class ToolPlugin:
    """Base of tools."""

    kind = "tool"


class ApplicationPlugin:
    """Base of application plugins."""

    kind = "application"


class HostPlugin:
    """Base of host plugins."""

    kind = "host"


__all__ = [
    "App", "ApplicationPlugin", "Call", "Cancellation", "Cancelled", "Core", "Error", "ExtensionPlugin",
    "FeaturePlugin", "History", "HostPlugin", "Message", "ProviderPlugin", "Session", "ToolPlugin",
    "current", "history", "tool",
]  # fmt: skip
