"""The walls round a student's process: namespaces, limits, an empty home.

On Linux the process has namespaces of its own for users, processes, mounts, network and System V
objects, as containers have (user_namespaces(7)): it sees no other process, no network but its
own loopback, and every file system read-only, but for a small one in memory that is its home.
The submissions and the results are hidden. It holds no capability and can gain none. Where the
system allows no namespaces, the limits of setrlimit(2) alone remain, and `confine` says so.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import resource
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import simt
from gpulearn_grading.apart.limits import MIB, Confinement, Limits
from simt.device.selection import data_bytes

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS = 1, 4, 28, 38
SYS_MOUNT_SETATTR = 442  # on every architecture (Linux 5.12)
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41
SECURE = 0x2F  # root is nobody special, and that stays so
WITHOUT = "GPULEARN_GRADE_NO_WALLS"  # set where namespaces are there and do not work
MIN_PIDS = 301  # the kernel takes no less
DEVICES = ("null", "full", "random", "urandom")  # zero, shared, is memory that nobody counts

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
SECCOMP_ERRNO, SECCOMP_ALLOW = 0x50000, 0x7FFF0000
LOAD, AND, EQUAL, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
AT_NUMBER, AT_ARCHITECTURE, AT_FLAGS = 0, 4, 40  # of a call; its fourth argument
SHARED_AND_ANONYMOUS, X32 = 0x21, 0x40000000
# by machine: what audit(7) calls it; memfd_create, memfd_secret, shmget, semget, msgget,
# io_uring_setup, and add_key, request_key, keyctl, whose keys outlive the process; mmap
REFUSED = {
    "x86_64": (0xC000003E, (319, 447, 29, 64, 68, 425, 248, 249, 250), 9),
    "aarch64": (0xC00000B7, (279, 447, 194, 190, 186, 425, 217, 218, 219), 222),
}

# where people's files lie, sockets of other programs, which no read-only mount closes, and the
# system's settings, of which programs need some
HIDDEN = ("/home", "/root", "/srv", "/mnt", "/media", "/run", "/tmp", "/var", "/etc")
SETTINGS = ("alternatives", "hosts", "ld.so.cache", "nsswitch.conf")

libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the C library's, which says whether it worked."""
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments}: {os.strerror(number)}")


def bury_with(parent: int) -> None:
    """End this process when its parent ends; so nothing is left behind."""
    if sys.platform == "linux":
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before that was said
            os._exit(1)


def in_namespaces() -> str:
    """Move this process into namespaces of its own; why that is not possible here, or "".

    Its children, not itself, are in the namespace of processes. Where it is not possible, nothing
    has changed. A system may make namespaces and then refuse to name their users, as Ubuntu's
    AppArmor does; whoever is half in can start nothing.
    """
    return lacking() or _entered()


def lacking() -> str:
    """Why a process cannot have namespaces of its own here, or ""; a copy of this one tries."""
    if sys.platform != "linux" or os.environ.get(WITHOUT):
        return f"{sys.platform} has no namespaces here"
    read, write = os.pipe()
    copy = os.fork()
    if not copy:
        try:
            os.write(write, _entered().encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        fault = answer.read().decode(errors="replace")
    with suppress(ChildProcessError):  # where the system buries them
        os.waitpid(copy, 0)
    return fault


def _entered() -> str:
    """Enter them, by all steps; which one fails, or ""."""
    user, group = os.getuid(), os.getgid()
    try:
        _call("unshare", NAMESPACES)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError as error:
        return f"the system allows no namespaces here ({error})"
    return ""


def confine(confinement: Confinement, *, walls: bool) -> None:
    """Close the walls round this process, for good.

    Args:
        confinement: its limits hold for each process; all together are watched from outside.
        walls: whether `in_namespaces` has worked; if not, only the limits hold.

    Raises:
        OSError: a wall does not stand; the process must not go on then.
    """
    if walls:
        _mount_all(confinement)
        _loopback_up()
        most = {"user/max_user_namespaces": 0, "user/max_mnt_namespaces": 0}  # none within
        release = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
        if release >= (6, 14):  # from which on it is the namespace's own; else everybody's
            most["kernel/pid_max"] = MIN_PIDS
        for name, number in most.items():
            with suppress(OSError):
                Path("/proc/sys", name).write_text(str(number))
        _attributes("/proc", set_=MS_RDONLY)
    home = confinement.box / "home"
    home.mkdir(exist_ok=True)
    os.chdir(home)
    keep = {"PATH", "LANG", "LC_ALL", "PYTHONPATH", "OMP_NUM_THREADS", "GPULEARN_DEVICE"}
    for name in set(os.environ) - keep - {"OMP_WAIT_POLICY", "LD_LIBRARY_PATH"}:
        del os.environ[name]
    os.environ.update({name: str(home) for name in ("HOME", "TMPDIR", "XDG_DATA_HOME")})
    os.environ["LOGNAME"] = "student"  # nobody's name is to be found
    _limit(confinement.limits)
    if walls:
        _drop_capabilities()
    if sys.platform == "linux":
        _refuse_calls()


def _limit(limits: Limits) -> None:
    """What one process may take; with a hard limit each, which it cannot raise."""
    base = data_bytes()  # by what is loaded before the answer
    # a fork bomb meets NPROC first; the superuser is not held by it, but by pid_max and the watch
    bounds = {
        resource.RLIMIT_DATA: base + limits.memory_mib * MIB,
        resource.RLIMIT_FSIZE: limits.disk_mib * MIB,
        resource.RLIMIT_CPU: 10 * limits.seconds + 60,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
    }
    if os.getuid() and sys.platform == "linux":
        bounds[resource.RLIMIT_NPROC] = limits.processes + _threads_of_user()
    for kind, value in bounds.items():
        hard = resource.getrlimit(kind)[1]
        most = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an OSError says so instead


def _threads_of_user() -> int:
    """How many threads this user has outside, where the count is not the namespace's own."""
    count = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            if status.stat().st_uid == os.getuid():
                count += int(status.read_text().rpartition(")")[2].split()[17])
    return count


def _mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    what = kind and kind.encode(), flags, data.encode() or None
    _call("mount", source.encode(), target.encode(), *what)


def _attributes(path: str, *, set_: int = 0, clear: int = 0, recursive: bool = False) -> None:
    """mount_setattr(2); its flags for read-only, no set-user-ID and no devices are mount's."""
    flags = struct.pack("QQQQ", set_, clear, 0, 0)
    where = AT_FDCWD, path.encode(), AT_RECURSIVE * recursive
    _call("syscall", SYS_MOUNT_SETATTR, *where, flags, len(flags))


def _mount_all(confinement: Confinement) -> None:
    """Everything read-only, a few devices, one small file system in memory, hidden folders."""
    hidden, box, limits, seen = confinement
    hidden = sorted(set(hidden), key=lambda path: len(path.parts))  # the outer first
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    kept = {path: os.open(path, os.O_PATH) for path in needed(hidden, seen)}
    devices = {name: os.open(f"/dev/{name}", os.O_PATH) for name in DEVICES}
    _attributes("/", set_=MS_RDONLY | MS_NOSUID | MS_NODEV, recursive=True)
    for folder in hidden:
        if folder.is_dir():
            _mount("none", str(folder), "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
            for path, file in kept.items():
                if path.is_relative_to(folder):
                    source = Path(f"/proc/self/fd/{file}")
                    (path if source.is_dir() else path.parent).mkdir(parents=True, exist_ok=True)
                    if not source.is_dir():
                        path.touch()
                    _mount(str(source), str(path), None, MS_BIND | MS_REC)
        elif folder.is_file() or folder.is_socket():
            _mount("/dev/null", str(folder), None, MS_BIND)
    for file in kept.values():
        os.close(file)
    if not box.is_dir():  # it lies in what has just been hidden
        box.mkdir(parents=True)
    for folder in hidden:
        if folder.is_dir() and os.path.ismount(folder):
            _attributes(str(folder), set_=MS_RDONLY)
    sizes = f"size={int(limits.disk_mib * MIB)},nr_inodes=20000,mode=700"
    _mount("none", str(box), "tmpfs", MS_NOSUID | MS_NODEV, sizes)
    _mount("none", "/dev", "tmpfs", MS_NOSUID, "size=1m,mode=755")
    for name, file in devices.items():
        Path("/dev", name).touch()
        _mount(f"/proc/self/fd/{file}", f"/dev/{name}", None, MS_BIND)
        _attributes(f"/dev/{name}", clear=MS_NODEV)
        os.close(file)
    (box / "shm").mkdir()
    Path("/dev/shm").symlink_to(box / "shm")
    Path("/dev/fd").symlink_to("/proc/self/fd")
    _attributes("/dev", set_=MS_RDONLY)
    try:
        _mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    except OSError:  # a container that masks parts of it; then there is none
        _mount("none", "/proc", "tmpfs", MS_RDONLY)


def needed(hidden: Sequence[Path], seen: Sequence[Path] = ()) -> list[Path]:
    """What lies in hidden folders and stays to be seen: Python, the packages, what is asked for."""
    house = Path(__file__).parents[2]
    paths = [Path(p) for p in (sys.prefix, sys.base_prefix, *sys.path) if p]
    paths = [path for path in paths if path.is_dir() and path.resolve() != house]
    paths += [*map(Path, simt.internal.values()), *seen]
    paths += [path for name in SETTINGS if (path := Path("/etc", name)).exists()]
    paths += [path.resolve() for path in paths]
    inside = [p for p in dict.fromkeys(paths) if any(p.is_relative_to(one) for one in hidden)]
    # a folder on the path that is hidden itself, or has the home in it, would bring all of it back
    inside = [p for p in inside if p not in hidden and not Path.home().is_relative_to(p)]
    return sorted(inside, key=lambda path: len(path.parts))


def sockets() -> list[Path]:
    """Sockets of other programs that have a path; asked for where their network can be seen."""
    with suppress(OSError):
        lines = Path("/proc/net/unix").read_text(errors="surrogateescape").splitlines()[1:]
        names = {fields[7] for line in lines if len(fields := line.split(None, 7)) == 8}
        return [Path(name) for name in names if name.startswith("/")]
    return []


def _loopback_up() -> None:
    """Ranks that talk by sockets need it; it leads nowhere else."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", IFF_UP_RUNNING)
        with suppress(OSError):
            fcntl.ioctl(sock, SIOCSIFFLAGS, request)


def _refuse_calls() -> None:
    """Refuse calls of the kernel's that take memory which no limit and no watcher counts.

    Those are files in memory that are known by number only, what System V shares, anonymous memory
    that is shared, rings of requests, and keys. The filter (seccomp(2)) is a program for the
    kernel's own machine: instructions of 8 bytes, of which a jump tells how many to leave out.
    """
    audit, numbers, mmap = REFUSED.get(os.uname().machine, (0, (), 0))
    if not audit:
        return

    refuse = (RETURN, 0, 0, SECCOMP_ERRNO | errno.EPERM)
    program = [
        (LOAD, 0, 0, AT_ARCHITECTURE), (EQUAL, 1, 0, audit), refuse,
        (LOAD, 0, 0, AT_NUMBER), (AT_LEAST, 0, 1, X32), refuse,
        *(part for number in numbers for part in ((EQUAL, 0, 1, number), refuse)),
        (EQUAL, 0, 4, mmap), (LOAD, 0, 0, AT_FLAGS), (AND, 0, 0, SHARED_AND_ANONYMOUS),
        (EQUAL, 0, 1, SHARED_AND_ANONYMOUS), refuse,
        (RETURN, 0, 0, SECCOMP_ALLOW),
    ]  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *part) for part in program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call("prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0)


def _drop_capabilities() -> None:
    """Give up what made the mounts possible, and the way to get it back."""
    _call("prctl", PR_SET_SECUREBITS, SECURE, 0, 0, 0)
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    version = struct.pack("Ii", 0x20080522, 0)
    _call("capset", version, struct.pack("6I", 0, 0, 0, 0, 0, 0))
    _call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # its judge may see how much memory it has
