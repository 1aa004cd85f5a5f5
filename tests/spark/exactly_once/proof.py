"""The verdict on all queries of an application."""

from tests.spark.exactly_once.application import Application
from tests.spark.exactly_once.comparing import Difference, difference
from tests.spark.exactly_once.computed import COMPUTED
from tests.spark.exactly_once.found import COLUMNS, found


def compared(application: Application) -> list[Difference]:
    """Every output record of every query against the computation, after the end of the inputs."""
    verdicts = []
    for name in application.names:
        rows = application.rows[name]
        assert rows, f"{name}: its input has no end"
        verdicts.append(difference(name, COLUMNS[name], COMPUTED[name](rows), found(name, application.folder)))
    return verdicts


def assert_nothing_lost_or_doubled(application: Application) -> None:
    verdicts = compared(application)
    assert all(verdict.expected for verdict in verdicts), "a comparison with nothing proves nothing"
    wrong = [str(verdict) for verdict in verdicts if verdict]
    assert not wrong, "\n".join(wrong)
