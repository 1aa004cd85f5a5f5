"""What `elastream cluster` and `elastream kafka` say alike of what they keep running."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elastream.cli.terminal.output import console, print_json
from elastream.daemons.client import down
from elastream.daemons.state_folder import StateFolder


def option(folder: Path | None) -> str:
    """The option that names the same one in another command."""
    return "" if folder is None else f" --folder {folder}"


def stop_and_tell(where: StateFolder[Any], what: str, *, json: bool) -> None:
    """End what is kept in a folder."""
    was_there = down(where)
    if json:
        print_json({"stopped": was_there, "folder": str(where.path)})
    elif was_there:
        console().print(f"down: {where.path} and its processes are gone", soft_wrap=True)
    else:
        console().print(f"no {what} in {where.path}: nothing to stop", soft_wrap=True)


def tell_status(now: Mapping[str, Any], lines: Sequence[str], clean_up: str, *, json: bool) -> None:
    """`now` is what a script gets; a person gets the first line, the processes, and the other lines."""
    if json:
        print_json(now)
        return
    screen = console()
    screen.print(lines[0], soft_wrap=True)
    if "processes" in now:
        shown = (f"{one['name']} {one['pid']}{'' if one['running'] else ' (gone)'}" for one in now["processes"])
        for line in (f"processes: {', '.join(shown)}", *lines[1:]):
            screen.print(line, soft_wrap=True)
        if not now["up"]:
            screen.print(f"clean up: {clean_up}", soft_wrap=True)
