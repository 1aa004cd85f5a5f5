"""What is set for a driver outside its script."""

from pathlib import Path

from elastream.launch.setting_up import outside


def test_a_later_place_wins_over_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.master spark://defaults:1\nspark.executor.cores 3\n")
    assert outside({}, tmp_path) == {"spark.master": "spark://defaults:1", "spark.executor.cores": "3"}
    arguments = (
        "--master spark://given:1 --conf spark.elastream.policy=fixed --conf spark.executor.cores=5 "
        "--executor-memory=2g pyspark-shell"
    )
    assert outside({"PYSPARK_SUBMIT_ARGS": arguments, "MASTER": "local"}, tmp_path) == {
        "spark.master": "spark://given:1",
        "spark.executor.cores": "5",
        "spark.elastream.policy": "fixed",
        "spark.executor.memory": "2g",
    }


def test_a_file_of_properties_stands_in_for_the_defaults_unless_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.executor.cores 3\n")
    file = tmp_path / "own.conf"
    file.write_text("spark.master=spark://own:1\n")
    own = {"spark.master": "spark://own:1"}
    assert outside({"PYSPARK_SUBMIT_ARGS": f"--properties-file {file}"}, tmp_path) == own
    both = outside({"PYSPARK_SUBMIT_ARGS": f"--properties-file {file} --load-spark-defaults"}, tmp_path)
    assert both == {**own, "spark.executor.cores": "3"}


def test_where_nobody_names_a_master_there_is_none(tmp_path: Path) -> None:
    assert outside({"PYSPARK_SUBMIT_ARGS": "pyspark-shell"}, tmp_path) == {}
