"""`elastream bundle`."""

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.options import Json
from elastream.cli.terminal.output import console, print_json, print_line, tell
from elastream.cli.terminal.plan_progress import PlanProgress
from elastream.core.errors import BadInput, ElastreamError
from elastream.core.log import log
from elastream.experiments.bundle.archive import unpack_archive, write_archive
from elastream.experiments.bundle.check import BundleCheck, check_bundle
from elastream.experiments.bundle.packing import Packed, pack
from elastream.experiments.runner.runner import Processes

MOST_TOLD = 10
"""Of what differs, or was left out; `--json` has all."""


def bundle(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="What `experiment run --out` wrote; with --check, an archive or a folder."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it. Default: the folder's name and .zip.")
    ] = None,
    loads: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="NAME", help="Recorded loads that may be given to others, with * and ?; may be repeated."
        ),
    ] = None,
    author: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Whom to cite, given names first; may be repeated.")
    ] = None,
    licence: Annotated[
        str | None, typer.Option("--license", metavar="NAME", help="Of the results, as SPDX calls it: CC-BY-4.0.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Run an archive again, and compare every value with what it holds.")
    ] = False,
    trust: Annotated[bool, typer.Option("--trust", help="With --check: run the code of others that is in it.")] = False,
    json: Json = False,
) -> None:
    """Pack a folder of runs into one archive that others can cite, and run again with one command.

    Plan, raw tables, report, environment, models and code of others go in; recorded loads only where --with says that
    they may. The same content gives the same bytes. --check runs all of it again, in a folder of its own, and compares
    every value; nothing that is there is changed.

    [bold]Examples[/bold]

    elastream bundle results/first-look --author 'Given Family' --license CC-BY-4.0

    elastream bundle results/mine --with 'demeter_*.csv' --out mine.zip

    elastream bundle --check first-look.zip
    """
    if check:
        _check(path, trusts_code=trust, json=json)
        return
    packed = pack(path, loads=loads or [], authors=author or [], licence=licence)
    target = out if out is not None else Path(f"{path.resolve().name}.zip")
    if target.is_dir():
        raise BadInput(f"--out {target}: this is a folder; name a file, such as {target / packed.name}.zip")
    write_archive(target, packed.name, packed.members)
    if json:
        print_json({"archive": str(target), "runs": packed.runs, "left_out": packed.left_out})
    else:
        _print_packed(target, packed)


def _print_packed(target: Path, packed: Packed) -> None:
    screen = console()
    size = target.stat().st_size / 2**20
    print_line(screen, f"{target}: {packed.runs:,} runs, {len(packed.members):,} files, {size:.1f} MiB")
    for one in packed.left_out[:MOST_TOLD]:
        print_line(screen, f"left out: {one['what']}: {one['why']}")
    if (more := len(packed.left_out) - MOST_TOLD) > 0:
        print_line(screen, f"and {more:,} more; README.md and MANIFEST.json in it name all")
    print_line(screen, f"run it again: elastream bundle --check {target}")


def _check(path: Path, *, trusts_code: bool, json: bool) -> None:
    log.disabled = True
    try:
        with tempfile.TemporaryDirectory(prefix="elastream-") as work, PlanProgress(quiet=json) as told:
            root = _unpack(path, Path(work))
            found = check_bundle(
                root, Path(work) / "again", Processes(), trusts_code=trusts_code, begin=told.begin, tell=told.done
            )
    finally:
        log.disabled = False
    if json:
        print_json({**asdict(found), "is_right": found.complaint is None})
    else:
        _print_check(found)
    if found.complaint is not None:
        raise ElastreamError(f"{path}: {found.complaint}")


def _unpack(path: Path, work: Path) -> Path:
    """The folder that an archive holds, or the one that was unpacked by hand."""
    if path.is_dir():
        return path.resolve()
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file or folder")
    return unpack_archive(path, work)


def _print_check(found: BundleCheck) -> None:
    screen = console()
    print_line(screen, f"{found.name}: {found.same:,} of {found.runs:,} runs gave the same, value by value")
    if found.is_other_code:
        print_line(screen, "the code here is not that of the runs: what differs may be what was changed")
    told = [f"damaged: {name}" for name in found.damaged]
    told += [f"differs: {run}: {where}" for run, where in found.differing.items()]
    told += [f"not run: {run}: {why}" for run, why in found.not_run.items()]
    for line in told[:MOST_TOLD]:
        print_line(screen, line)
    if (more := len(told) - MOST_TOLD) > 0:
        tell(f"and {more:,} more; --json has all")
