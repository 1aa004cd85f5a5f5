"""The brokers that a command is to use: those that were named, or the broker of one's own."""

from pathlib import Path

from elastream.core.errors import BadInput
from elastream.development.kafka.folder import BrokerFolder, standing_folder, status


def read_bootstrap(text: str | None) -> str:
    """What `--bootstrap` means: addresses, the folder of a broker of one's own, or nothing for the one that stands."""
    if text is None:
        return _address(standing_folder(), "start one: elastream kafka up, or name brokers as HOST:PORT")
    if Path(text).is_dir():
        return _address(BrokerFolder(path=Path(text).absolute()), f"start one: elastream kafka up --folder {text}")
    if ":" not in text:
        raise BadInput(f"--bootstrap: found {text!r}; it must be HOST:PORT, or the folder of `elastream kafka up`")
    return text


def _address(folder: BrokerFolder, remedy: str) -> str:
    found = status(folder)
    if not found.is_up or found.state is None or found.state.bootstrap is None:
        raise BadInput(f"--bootstrap: no broker runs in {folder.path}; {remedy}")
    return found.state.bootstrap
