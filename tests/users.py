"""Another user of the same machine: `nobody`, who can do what every user can."""

import os
import pwd
import traceback
from collections.abc import Callable

NOBODY = "nobody"


def missing() -> str | None:
    """Why nobody can be played here."""
    if os.getuid() != 0:
        return "only root can act as another user; run the tests as root"
    try:
        pwd.getpwnam(NOBODY)
    except KeyError:
        return f"there is no user {NOBODY}"
    return None


def begin_as_nobody(act: Callable[[], object]) -> int:
    """Do something in a process of theirs, by its id; it ends with us at the latest when it is killed."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        user = pwd.getpwnam(NOBODY)
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        os.umask(0)
        act()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def as_nobody(act: Callable[[], object]) -> None:
    """Do something as they would, and wait until it is done."""
    assert os.waitstatus_to_exitcode(os.waitpid(begin_as_nobody(act), 0)[1]) == 0
