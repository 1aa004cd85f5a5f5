"""The command line."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and the code to exit with: 0 done, 1 failed, 2 wrong input and nothing started."""
    try:
        from elastream.cli.app import run
    except ModuleNotFoundError as missing:
        # The base install, made for `attach` inside a job, has no command line.
        if missing.name not in ("rich", "typer", "yaml"):
            raise
        sys.stderr.write(f"elastream: the command line needs {missing.name}: pip install 'elastream[cli]'\n")
        return 1
    return run(sys.argv[1:] if arguments is None else arguments)
