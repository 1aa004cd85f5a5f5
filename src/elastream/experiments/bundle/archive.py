"""Archives that are equal byte by byte where their content is, and that are unpacked into their own folder only."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

from elastream.core.errors import BadInput

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The first date that the format has."""
MOST_BYTES, MOST_FILES = 64 * 2**30, 5_000_000
"""More is no archive of runs."""
MOST_TIMES = 100
"""As large as its file: tables hardly shrink when they are packed, and texts of ours by a tenth of that."""

Content = bytes | Path
"""What is written, or the file that has it."""


def write_archive(file: Path, name: str, members: Mapping[str, Content]) -> None:
    """Pack files under a folder of that name; the file is there when it is whole."""
    partial = file.with_name(f"{file.name}.part")
    try:
        # Uncompressed: tables are small already, and libraries that compress differ from machine to machine.
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
            for member, content in sorted(members.items()):
                entry = zipfile.ZipInfo(f"{name}/{member}", EPOCH)
                entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
                archive.writestr(entry, content if isinstance(content, bytes) else content.read_bytes())
        partial.replace(file)
    except OSError as wrong:
        partial.unlink(missing_ok=True)
        raise BadInput(f"--out {file}: {wrong.strerror}") from None


def unpack_archive(file: Path, folder: Path) -> Path:
    """Unpack into an empty folder, and give the one that everything lies in; BadInput if it is none of ours."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            most = min(MOST_BYTES, MOST_TIMES * file.stat().st_size)
            if len(entries) > MOST_FILES or sum(entry.file_size for entry in entries) > most:
                raise BadInput(f"{file}: it holds more than an archive of runs would")
            names = [PurePosixPath(entry.filename) for entry in entries]
            if not names or any(_leaves(name) for name in names) or len({name.parts[0] for name in names}) != 1:
                raise BadInput(f"{file}: this is no archive of `elastream bundle`")
            archive.extractall(folder)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as wrong:
        raise BadInput(f"{file}: it cannot be unpacked: {getattr(wrong, 'strerror', None) or wrong}") from None
    return folder / names[0].parts[0]


def digest(content: Content) -> str:
    """SHA-256."""
    return sha256(content if isinstance(content, bytes) else content.read_bytes()).hexdigest()


def _leaves(name: PurePosixPath) -> bool:
    return name.is_absolute() or ".." in name.parts or len(name.parts) < 2
