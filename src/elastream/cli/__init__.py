"""The command line."""

import sys
from collections.abc import Sequence

from elastream.core.extras import MissingExtra, find_missing

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and the code to exit with: 0 done, 1 failed, 2 wrong input and nothing started."""
    try:
        from elastream.cli.app import run
    except ModuleNotFoundError as missing:
        # The base install, made for `attach` inside a job, has no command line.
        module = find_missing(missing)
        if module is None:
            raise
        sys.stderr.write(f"elastream: {MissingExtra('the command line', module)}\n")
        return 2
    return run(sys.argv[1:] if arguments is None else arguments)
