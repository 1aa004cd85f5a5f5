"""The command line, and what becomes of errors: one line, and a code to exit with."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import elastream
from elastream.cli.command_table import CommandGroup, add_commands
from elastream.cli.terminal.output import tell
from elastream.core.errors import BadInput, ElastreamError, suggestion
from elastream.core.extras import MissingExtra, find_missing
from elastream.core.module_search import search_here

INTERRUPTED = 130

EXTRAS_TOGETHER = {"produce": "lab,kafka"}
"""Commands that need more than one: whoever lacks the first is not to come back for the second."""

# Typer has a copy of click in newer versions and uses click itself in older ones.
UsageError: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="elastream",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
add_commands(app)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"elastream {elastream.__version__}")
        raise typer.Exit()


@app.callback()
def _elastream(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Keeps a stream-processing job supplied with exactly the workers it needs, and says why.

    Begin with [bold]elastream demo[/bold]. Every command explains itself with [bold]--help[/bold].
    """


def run(arguments: Sequence[str]) -> int:
    """Run a command; whatever happens, the user reads one line and no traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A character that the terminal lacks must not end a command.
            stream.reconfigure(errors="replace")
    # Where the user stands, classes of theirs are found by their module.
    search_here()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        return _unread()
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        if os.environ.get("ELASTREAM_DEBUG"):
            raise
        module = find_missing(error)
        if module is not None:
            # An install with less than what the command needs.
            command = arguments[0] if arguments else "elastream"
            error = MissingExtra(command, module, EXTRAS_TOGETHER.get(command))
        if isinstance(error, ElastreamError):
            tell(f"elastream: {' '.join(str(error).split())}")
            return 2 if isinstance(error, BadInput) else 1
        tell(f"elastream: unexpected {type(error).__name__}: {error} (ELASTREAM_DEBUG=1 shows where)")
        return 1
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        code = app(list(arguments), prog_name="elastream", standalone_mode=False)
    except UsageError as wrong:
        if not arguments:  # the help stands in for the error
            sys.stdout.write(f"{wrong.format_message()}\n")
            return 0
        tell(f"elastream: {_told(wrong)}")
        return 2
    except typer.Abort:
        return _interrupted()
    if code == INTERRUPTED:
        return _interrupted()
    return code if isinstance(code, int) else 0


def _told(wrong: Any) -> str:
    """What was wrong in the words of all our errors, with the nearest right name."""
    name, context = getattr(wrong, "option_name", None), wrong.ctx
    if name is not None and hasattr(wrong, "possibilities") and context is not None:
        known = [option for parameter in context.command.params for option in parameter.opts if option[:1] == "-"]
        near = suggestion(name, [*known, "--help"])
        hint = near.replace("'", "") if "did you mean" in near else f"; see {context.command_path} --help"
        return f"no such option {name}{hint}"
    commands = getattr(context.command, "commands", None) if context is not None else None
    typed = wrong.message.partition("'")[2].partition("'")[0]
    if commands and wrong.message.startswith("No such command"):
        return f"no such command {typed!r}{suggestion(typed, commands)}"
    message = " ".join(wrong.format_message().split()).rstrip(".")
    see = f"; see {context.command_path} --help" if context is not None else ""
    return f"{message[:1].lower()}{message[1:]}{see}"


def _interrupted() -> int:
    tell("elastream: interrupted")
    return INTERRUPTED


def _unread() -> int:
    """Whoever read our output has gone, as `head` does: nothing is left to say, at exit neither."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
