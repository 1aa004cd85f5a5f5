"""What an elastic session needs, and what rules it out."""

from typing import Any

import pytest

from elastream.core.errors import CannotRun
from elastream.spark.session import check, configure, expected_executors, session_settings


class Builder:
    """A session builder that only remembers."""

    def __init__(self, **options: str) -> None:
        self._options: dict[str, str] = options

    def config(self, key: str, value: str) -> "Builder":
        self._options[key] = value
        return self


class Context:
    def __init__(self, master: str, **conf: str) -> None:
        self.master, self.startTime = master, 1_000_000
        self._conf = {key.replace("_", "."): value for key, value in conf.items()}

    def getConf(self) -> dict[str, str]:
        return self._conf


class Session:
    """As much of a session as the check looks at."""

    def __init__(self, master: str = "spark://127.0.0.1:7077", **conf: str) -> None:
        self._sc = Context(master, **{"spark_decommission_enabled": "true", **conf})
        self._jsparkSession = object()


def checked(session: object, **how: Any) -> None:
    check(session, **how)  # type: ignore[arg-type]


def test_executors_of_several_cores_that_the_user_has_set_count_in_the_upper_bound() -> None:
    built = configure(Builder(**{"spark.executor.cores": "4"}), executors=(1, 3))
    assert built._options["spark.cores.max"] == "12"
    assert built._options["spark.executor.cores"] == "4"


def test_an_application_that_has_just_begun_waits_for_its_executors_and_an_older_one_has_those_it_has() -> None:
    standalone = Context("spark://127.0.0.1:7077", spark_cores_max="8", spark_executor_cores="2")
    assert expected_executors(standalone, 1_010.0) == 4
    assert expected_executors(standalone, 1_100.0) is None
    assert expected_executors(Context("yarn", spark_executor_instances="3"), 1_010.0) == 3
    assert expected_executors(Context("yarn"), 1_010.0) is None


def test_every_setting_says_why() -> None:
    assert all(setting.reason and setting.value for setting in session_settings())


def test_the_upper_bound_decides_cores_and_partitions() -> None:
    found = {setting.key: setting.value for setting in session_settings((1, 8), cores=4)}
    assert found["spark.cores.max"] == "32"
    assert found["spark.sql.shuffle.partitions"] == "32"
    assert found["spark.executor.cores"] == "4"


def test_what_the_user_has_set_stays() -> None:
    builder = configure(Builder(**{"spark.locality.wait": "3s"}))
    assert builder._options["spark.locality.wait"] == "3s"
    assert builder._options["spark.decommission.enabled"] == "true"


def test_a_cluster_with_decommissioning_is_fine() -> None:
    checked(Session())
    checked(Session(master="yarn"))
    checked(Session(master="local-cluster[2,1,1024]"))


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        (object(), "Spark Connect has no driver to attach to"),
        (Session(master="local[4]"), r"master local\[4\] has no executors"),
        (Session(master="local"), "master local has no executors"),
        (Session(spark_dynamicAllocation_enabled="true"), "spark.dynamicAllocation.enabled is true"),
        (Session(spark_decommission_enabled="false"), "spark.decommission.enabled is false"),
    ],
)
def test_what_cannot_work_is_refused_with_the_remedy(session: object, reason: str) -> None:
    with pytest.raises(CannotRun, match=reason):
        checked(session)


def test_killing_is_an_explicit_choice() -> None:
    checked(Session(spark_decommission_enabled="false"), shrink_by="kill")
