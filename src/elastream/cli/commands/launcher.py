"""`elastream launcher`."""

import typer

from elastream.launch import LAUNCHER


def launcher() -> None:
    """Print the file that spark-submit is to start in place of a script.

    [bold]Examples[/bold]

    spark-submit --master URL --conf spark.elastream.policy=threshold "$(elastream launcher)" app.py --its-own options

    The Python that spark-submit uses (PYSPARK_PYTHON) must have Elastream installed. Behind the file, --executors
    MIN..MAX, --config FILE, --set KEY=VALUE, --conf KEY=VALUE and --quiet may stand before the script; see
    elastream run --help.
    """
    typer.echo(str(LAUNCHER))
