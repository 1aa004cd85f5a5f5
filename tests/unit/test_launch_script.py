"""A launched script is to notice nothing: the same output, errors and exit code as with Python alone."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from elastream.launch import LAUNCHER
from tests.unit.launching import environment, launched, make_pyspark, plain


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_pyspark(tmp_path)
    (tmp_path / "beside.py").write_text("def answer():\n    return 42\n")
    return tmp_path


SCRIPTS = {
    "arguments": "import sys\nprint(sys.argv, __file__, __name__, __spec__, sys.path[0])\n",
    "its-folder": "from beside import answer\nprint(answer())\n",
    "no-future": "def f(x: int): pass\nprint(f.__annotations__)\n",
    "pickled": "import pickle\nclass Kept: pass\nprint(type(pickle.loads(pickle.dumps(Kept()))) is Kept)\n",
    "exit-code": "import sys\nsys.exit(7)\n",
    "exit-message": "import sys\nsys.exit('no more')\n",
    "error": "def f():\n    raise ValueError('boom')\nf()\n",
    "error-from-error": "try:\n    1 / 0\nexcept ZeroDivisionError as cause:\n    raise KeyError('k') from cause\n",
    "syntax": "print('never')\ndef (:\n",
    "own-hook": "import sys\nsys.excepthook = lambda *a: print('mine')\n1 / 0\n",
    "last-thread": (
        "import threading, time\n"
        "threading.Thread(target=lambda: (threading.main_thread().join(), print(__name__))).start()\n"
    ),
    "spawned": (
        "import multiprocessing\n"
        "def double(x):\n    return 2 * x\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(double, [1, 2]))\n"
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_output_errors_and_exit_code_are_those_of_plain_python(name: str, folder: Path) -> None:
    (folder / "app.py").write_text(SCRIPTS[name])
    arguments = ["app.py", "--help", "--", "-x", "two words"]
    ours, theirs = launched(folder, *arguments), plain(folder, *arguments)
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_as_it_ends_python(number: signal.Signals, folder: Path) -> None:
    (folder / "app.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(60)\n")
    with subprocess.Popen(
        [sys.executable, str(LAUNCHER), "app.py"],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        _, told = process.communicate()
    assert process.returncode == -number
    assert "elastream" not in told
