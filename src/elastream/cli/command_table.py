"""Every command with its sentence; the module of one is imported when it is called, or its own help is asked for."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS = {
    "Your job": {
        "run": "Run somebody's PySpark Structured Streaming script, unchanged, with as many executors as its queries "
        "need.",
        "launcher": "Print the file that spark-submit is to start in place of a script.",
        "why": "Tell what a recorded run did, and why: a line per change of target or of reason.",
        "page": "Write a recorded run as one HTML page that works offline: load, backlog, delay, executors, and every "
        "why.",
        "watch": "Show a run that goes on elsewhere, or a recorded one at any speed: on a page, and in the terminal.",
        "advise": "Tell what another policy, other bounds or another SLO would have cost and kept, in the time of a "
        "recorded run.",
        "replay": "Plan a recorded run again, and list where decisions differ.",
    },
    "Laboratory": {
        "demo": "Real executors come and go under a running query while its load rises, spikes and falls; about 4.5 "
        "minutes.",
        "live": "Run a job on real executors under a moving load, and watch them come and go; then check every result.",
        "bench": "Measure a job on Spark inside this process: throughput and state, then delay and result latency.",
        "simulate": "Run policies on a simulated application, side by side, in seconds.",
        "plan": "Check a plan: one file that says what is measured and how. `elastream experiment run` runs it.",
        "experiment": "Run the experiments of a plan, go on with them, and look at what there is.",
        "tune": "Look for the settings of policies that cost least at the SLO, and score them on loads that they never "
        "saw.",
        "report": "Write what the runs of a plan say as one HTML file that works offline: answer, picture, tables.",
        "bundle": "Pack a folder of runs into one archive that others can cite, and run again with one command.",
        "calibrate": "Fit a model of a micro-batch application to one recorded run, for the simulator.",
        "fidelity": "Run a plan on executors and on a model calibrated on one of its runs, and say how far the "
        "simulator is off.",
        "scalability": "Measure how much a job sustains on each layout of a cluster, how well it scales, and what "
        "stops it.",
        "produce": "Write generated events to a Kafka topic, at the rate that a workload says.",
    },
    "Catalogues": {
        "jobs": "List the jobs that can be run, show the settings of one, or draw its operators.",
        "policies": "List the policies and on which platform each can run, or show the settings of one.",
        "workloads": "List patterns, presets and recorded traces; show the settings of one, or draw a workload.",
        "models": "List the models that the simulator comes with, or show the numbers of one.",
        "guards": "List the guards that can stand around a policy, or show the settings of one.",
        "faults": "List what can go wrong in a simulation, or show the settings of one fault.",
        "config": "Show every setting, its value, and where the value came from.",
    },
    "Development": {
        "cluster": "Start, stop and show a small Spark cluster on this machine, closed to everyone else.",
        "kafka": "Start, stop and show a Kafka broker on this machine, for development and tests.",
    },
}
"""Panel of the help -> command -> the first sentence of its own help."""


# Typer brings a copy of click in newer versions and uses click itself in older ones: no type has both.
class OneCommand(TyperCommand):
    """Its flags stand without a word for a value."""

    def get_params(self, ctx: Any) -> Any:
        """Its options and arguments, `--help` among them."""
        return _without_values(super().get_params(ctx))


class SeveralCommands(TyperGroup):
    """The same of several commands."""

    def get_params(self, ctx: Any) -> Any:
        """Its own options, `--help` among them."""
        return _without_values(super().get_params(ctx))


class CommandGroup(SeveralCommands):
    """Lists what was added to it, and runs the command itself in place of what stands for it there."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name of the command that is called, the command, and what is left of the line."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and load_command(str(name)), rest


def add_commands(app: typer.Typer) -> None:
    """Put every command into a list of them, none of them loaded."""
    for panel, commands in COMMANDS.items():
        for name, sentence in commands.items():
            app.command(name, help=sentence, rich_help_panel=panel)(_listed)


def load_command(name: str) -> Any:
    """A command from the module of its name: a function, or a group of them."""
    module = import_module(f"elastream.cli.commands.{name}")
    found = getattr(module, name)
    if isinstance(found, typer.Typer):
        found.info.cls = SeveralCommands
        for one in found.registered_commands:
            one.cls = OneCommand
        return typer.main.get_command(found)
    alone = typer.Typer(rich_markup_mode="rich", add_completion=False)
    alone.command(name, cls=OneCommand, context_settings=getattr(module, "CONTEXT", None))(found)
    return typer.main.get_command(alone)


def _without_values(parameters: Any) -> Any:
    """Newer versions of Typer write <bool> behind a flag, as if a value were to follow."""
    for one in parameters:
        if getattr(one, "is_flag", False):
            one.metavar = ""
    return parameters


def _listed() -> None:
    """Stands for a command that is not loaded."""
