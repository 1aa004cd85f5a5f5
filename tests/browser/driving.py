"""A real browser, by the protocol that its driver speaks: JSON over HTTP, so that no further package is needed."""

import base64
import errno
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

ANSWER_S = 60.0
"""A machine that does other work at the same time starts a browser slowly."""


class Browser:
    """One window of a headless Chromium."""

    def __init__(self, session: str) -> None:
        self._session = session

    def open(self, place: Path | str) -> None:
        """A file, or an address."""
        self._post("url", {"url": place if isinstance(place, str) else place.as_uri()})

    def await_true(self, script: str, within_s: float = 10.0) -> None:
        """Return once a function body in the page returns something true."""
        until_s = time.monotonic() + within_s
        while not self.run(script):
            assert time.monotonic() < until_s, f"not true within {within_s:g} s: {script}"
            time.sleep(0.05)

    def run(self, script: str) -> Any:
        """What a function body returns inside the page; the page's own rules for scripts do not bind it."""
        return self._post("execute/sync", {"script": script, "args": []})

    def await_value(self, script: str) -> Any:
        """What a function body in the page hands to its last argument, some time later."""
        return self._post("execute/async", {"script": script, "args": []})

    def tell(self, method: str, **parameters: Any) -> Any:
        """A command of Chromium's own protocol."""
        return self._post("goog/cdp/execute", {"cmd": method, "params": parameters})

    def resize(self, width: int, height: int) -> None:
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme: str) -> None:
        """`light` or `dark`."""
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key: str) -> None:
        actions = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self._post("actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def point(self, x: float, y: float) -> None:
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        self._post("actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [move]}]})

    def click(self) -> None:
        actions = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        self._post("actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def drag(self, left: float, top: float, right: float, bottom: float) -> None:
        """From one place to another with the button held down."""
        places = [
            {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
            for x, y in ((left, top), (right, bottom))
        ]
        actions = [places[0], {"type": "pointerDown", "button": 0}, places[1], {"type": "pointerUp", "button": 0}]
        self._post("actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def complaints(self) -> list[str]:
        """What the console says: errors, refused resources, breaches of the content policy."""
        return [entry["message"] for entry in self._post("se/log", {"type": "browser"})]

    def screenshot(self) -> bytes:
        return base64.b64decode(_answer(Request(f"{self._session}/screenshot")))

    def _post(self, command: str, body: dict[str, Any]) -> Any:
        return _answer(Request(f"{self._session}/{command}", data=json.dumps(body).encode()))


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser whose files are in a folder; it and its driver end with the block."""
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
    assert driver is not None
    assert chromium is not None
    command = [driver, f"--port={_free_port()}", "--log-level=SEVERE"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            address = f"http://127.0.0.1:{_port(process)}/session"
            made = _answer(Request(address, data=json.dumps(_wanted(chromium, folder)).encode()))
            session = f"{address}/{made['sessionId']}"
            try:
                yield Browser(session)
            finally:
                _answer(Request(session, method="DELETE"))
        finally:
            process.terminate()


def _free_port() -> int:
    """A port for the driver, which wants the same one for both kinds of address.

    Left to choose (--port=0) it takes what is free on one of them and ends if a connection of any other process has it
    on the other. So it gets one below those that the system gives to connections.
    """
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in range(10_000 + os.getpid() % 5_000, lowest):
        if _is_free(socket.AF_INET, "127.0.0.1", port) and _is_free(socket.AF_INET6, "::1", port):
            return port
    raise AssertionError(f"no free port below {lowest}")


def _is_free(family: socket.AddressFamily, host: str, port: int) -> bool:
    try:
        with socket.socket(family) as tried:
            tried.bind((host, port))
    except OSError as wrong:
        # Where there is no IPv6 the driver does without.
        return wrong.errno != errno.EADDRINUSE
    return True


def _port(process: "subprocess.Popen[str]") -> int:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"started successfully on port (\d+)", line):
            return int(found[1])
    raise AssertionError("chromedriver did not start")


def _wanted(chromium: str, folder: Path) -> dict[str, Any]:
    # Chromium's sandbox refuses root, which containers often are. What is opened here is our own.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}", *sandbox]
    options = {"binary": chromium, "args": arguments}
    match = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
    return {"capabilities": {"alwaysMatch": match}}


def _answer(request: Request) -> Any:
    with urlopen(request, timeout=ANSWER_S) as answer:
        return json.load(answer)["value"]
