"""What all scripts here share: where the server is, and how a scenario is told of."""

import os
import sys
import traceback

BASE_URL = os.environ["ORLOP_BASE_URL"]
passed, failed = [], []


def check(found, expected):
    """Fails the scenario if something else was found than expected."""
    if found != expected:
        raise AssertionError(f"found {found!r}, expected {expected!r}")


def scenario(run):
    """Runs a function at once and prints how it went."""
    try:
        run()
        print(f"  {run.__name__}: ok")
        passed.append(run.__name__)
    except Exception:
        traceback.print_exc()
        print(f"  {run.__name__}: FAILED")
        failed.append(run.__name__)
    return run


def finish():
    """Ends a script, with a line that is counted."""
    verdict = "FAILED" if failed else "ok"
    print(f"test result: {verdict}. {len(passed)} passed; {len(failed)} failed; 0 ignored")
    sys.exit(1 if failed else 0)
