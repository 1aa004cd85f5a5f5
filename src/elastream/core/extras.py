"""What the base install leaves out, and how to get it."""

from elastream.core.errors import BadInput

EXTRAS = {
    "rich": "cli", "typer": "cli", "yaml": "cli",
    "duckdb": "lab", "pandas": "lab", "py4j": "lab", "pyarrow": "lab", "pyspark": "lab",
    "confluent_kafka": "kafka",
    "optuna": "tune",
    "statsmodels": "forecast",
    "prometheus_client": "page", "starlette": "page", "uvicorn": "page",
}  # fmt: skip
"""A module that may be missing, and the extra that brings it."""


class MissingExtra(BadInput):
    """Something was asked for that needs more than what is installed; nothing was started."""

    def __init__(self, what: str, module: str, extras: str | None = None) -> None:
        brings = extras or EXTRAS[module]
        super().__init__(f"{what} needs {module.replace('_', '-')}: pip install 'elastream[{brings}]'")


def find_missing(error: BaseException) -> str | None:
    """The module behind an error, if an extra would have brought it."""
    while True:
        if isinstance(error, ModuleNotFoundError):
            module = (error.name or "").partition(".")[0]
            return module if module in EXTRAS else None
        if error.__cause__ is None:
            return None
        error = error.__cause__
