"""Where jars come from: a folder of the user's, the cache, or Maven, here played by a script."""

import hashlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from elastream.development.kafka import jars
from elastream.development.kafka.jars import (
    JarsNotFound,
    broker_jars,
    connector_jars,
    coordinates,
    folder_of,
    hashes,
    lacking,
)

LIST = jars.HASHES

# Notes that it ran, and puts two jars where it is told to.
MAVEN = """#!/bin/sh
echo "$@" >> NOTES
for argument in "$@"; do
    case $argument in -DoutputDirectory=*) folder=${argument#*=} ;; esac
done
sleep PAUSE
mkdir -p "$folder" && touch "$folder/b.jar" "$folder/a.jar"
"""

FETCH = """
import sys
from pathlib import Path
from types import SimpleNamespace
from elastream.development.kafka import jars

jars.java_home = lambda: SimpleNamespace(path=sys.argv[1])
jars.HASHES = Path(sys.argv[1]) / "jars.sha256"
assert len(jars.broker_jars()) == 2
"""


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Without Maven, and with a cache of its own."""
    monkeypatch.delenv("ELASTREAM_KAFKA_JARS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(jars, "java_home", lambda: SimpleNamespace(path=tmp_path))
    (tmp_path / "bin").mkdir()
    expect(tmp_path, "a.jar", "b.jar")
    monkeypatch.setattr(jars, "HASHES", tmp_path / "jars.sha256")
    return tmp_path


def expect(machine: Path, *names: str) -> None:
    """Nothing but these, all of them empty."""
    empty = hashlib.sha256(b"").hexdigest()
    lines = [f"{empty}  {kind}/{name}\n" for kind in ("broker", "connector") for name in names]
    (machine / "jars.sha256").write_text("".join(lines))


def install_maven(machine: Path, monkeypatch: pytest.MonkeyPatch, script: str = MAVEN, pause_s: str = "0") -> Path:
    """The file in which it notes how it was called."""
    maven, notes = machine / "bin" / "mvn", machine / "notes"
    maven.write_text(script.replace("NOTES", str(notes)).replace("PAUSE", pause_s))
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{machine / 'bin'}:/usr/bin:/bin")
    return notes


def test_maven_is_asked_once_and_says_so(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = install_maven(machine, monkeypatch)
    told: list[str] = []
    first = broker_jars(told.append)
    assert [jar.name for jar in first] == ["a.jar", "b.jar"]
    assert first[0].is_relative_to(machine / "cache" / "elastream" / "kafka")
    assert broker_jars(told.append) == first
    assert len(notes.read_text().splitlines()) == 1
    assert told == ["fetching the jars of the broker with Maven, once ..."]


def test_each_set_has_a_folder_of_its_own(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = install_maven(machine, monkeypatch)
    assert {jar.parent.name for jar in [*broker_jars(), *connector_jars()]} == {"broker", "connector"}
    assert "--activate-profiles=connector" in notes.read_text()


def test_two_processes_that_want_the_same_jars_fetch_them_once(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = install_maven(machine, monkeypatch, pause_s="0.3")
    both = [subprocess.Popen([sys.executable, "-c", FETCH, str(machine)]) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert len(notes.read_text().splitlines()) == 1


def test_what_an_interrupted_fetch_left_is_not_used(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_maven(machine, monkeypatch)
    left = folder_of("broker").with_suffix(".part") / "broker"
    left.mkdir(parents=True)
    (left / "half.jar").touch()
    assert [jar.name for jar in broker_jars()] == ["a.jar", "b.jar"]
    assert not left.parent.exists()


def test_a_failing_maven_is_quoted(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_maven(machine, monkeypatch, "#!/bin/sh\necho '[INFO] hello'\necho '[ERROR] no such artefact'\nexit 1\n")
    with pytest.raises(JarsNotFound, match=r"Maven failed: no such artefact; the whole log is in .*broker\.log"):
        broker_jars()
    assert not folder_of("broker").exists()


def test_a_maven_that_brings_nothing_is_told(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_maven(machine, monkeypatch, "#!/bin/sh\n")
    with pytest.raises(JarsNotFound, match="brought no jars for the broker"):
        broker_jars()


def test_jars_put_there_by_hand_are_used_before_all_else(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = install_maven(machine, monkeypatch)
    monkeypatch.setenv("ELASTREAM_KAFKA_JARS", str(machine / "mine"))
    (machine / "mine" / "connector").mkdir(parents=True)
    (machine / "mine" / "connector" / "own.jar").touch()
    assert connector_jars() == [machine / "mine" / "connector" / "own.jar"]
    with pytest.raises(JarsNotFound, match="mine/broker"):
        broker_jars()
    assert not notes.exists()


def test_without_maven_the_error_names_the_jars_and_the_folder() -> None:
    with pytest.raises(JarsNotFound) as missing:
        connector_jars()
    told = str(missing.value)
    assert "install Maven, or put org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0, " in told
    assert told.endswith(f" into {folder_of('connector')}")
    assert "\n" not in told
    assert "kafka_2.13:4.1.0" in (lacking("broker") or "")


@pytest.mark.parametrize(
    ("jar", "content", "told"),
    [
        ("a.jar", b"theirs", r"a\.jar: has SHA-256 .{12}\.\.\. and should have e3b0c44298fc\.\.\.; remove .*broker"),
        ("c.jar", b"", r"c\.jar: is none of the jars of the broker; remove "),
        ("b.jar", None, r"broker: b\.jar is missing; remove "),
    ],
)
def test_jars_that_are_not_those_of_the_list_are_not_used(
    machine: Path, monkeypatch: pytest.MonkeyPatch, jar: str, content: bytes | None, told: str
) -> None:
    install_maven(machine, monkeypatch)
    broker_jars()
    if content is None:
        (folder_of("broker") / jar).unlink()
    else:
        (folder_of("broker") / jar).write_bytes(content)
    with pytest.raises(JarsNotFound, match=told) as refused:
        broker_jars()
    assert "\n" not in str(refused.value)


def test_a_repository_that_has_another_jar_is_told_and_its_jar_not_kept(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_maven(machine, monkeypatch, MAVEN + 'echo theirs > "$folder/a.jar"\n')
    with pytest.raises(JarsNotFound, match=r"a\.jar: has SHA-256 .*; Maven's repository, or .* has another one; see "):
        broker_jars()
    assert not folder_of("broker").exists()


def test_the_list_names_every_artefact_of_the_pom_and_the_bytes_are_hashed_in_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jars, "HASHES", LIST)
    for name in ("broker", "connector"):
        listed = hashes(name)
        for coordinate in coordinates(name):
            _, artefact, version = coordinate.split(":")
            assert f"{artefact}-{version}.jar" in listed
        assert {len(bytes.fromhex(digest)) for digest in listed.values()} == {32}
    assert len(hashes("connector")) == len(coordinates("connector"))


def test_jars_that_are_there_need_no_maven(machine: Path) -> None:
    expect(machine, "one.jar")
    folder_of("broker").mkdir(parents=True)
    (folder_of("broker") / "one.jar").touch()
    assert lacking("broker") is None
    assert [jar.name for jar in broker_jars()] == ["one.jar"]


def test_another_pom_has_another_folder(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = folder_of("broker")
    (machine / "pom.xml").write_text(jars.POM.read_text().replace("4.1.0", "4.1.1"))
    monkeypatch.setattr(jars, "POM", machine / "pom.xml")
    assert folder_of("broker") != before
    assert "org.apache.kafka:kafka_2.13:4.1.1" in coordinates("broker")


def test_the_connector_is_of_the_spark_that_is_installed() -> None:
    from importlib.metadata import version

    spark = version("pyspark")
    assert f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}" in coordinates("connector")


def test_the_pom_names_no_address() -> None:
    assert "://" not in jars.POM.read_text()
