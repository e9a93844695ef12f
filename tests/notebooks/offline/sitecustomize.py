"""Cuts a Python process off from the network: loopback and Unix sockets stay.

Python imports a module of this name at start-up, so this folder on PYTHONPATH reaches the
kernel and every Python that it starts. An audit hook cannot be removed, and sees the calls
of every Python library; what compiled code does by itself it cannot see.
"""

import os
import sys

LOG = os.environ.get("GPULEARN_OFFLINE_LOG")  # unset: imported for another reason, stay out

# what is about to happen -> (verb, which argument holds the host or an address with it)
EVENTS = {
    "socket.connect": ("connect to", 1),
    "socket.sendto": ("send to", 1),
    "socket.sendmsg": ("send to", 1),
    "socket.getaddrinfo": ("look up", 0),
    "socket.gethostbyname": ("look up", 0),
    "socket.gethostbyaddr": ("look up", 0),
    "socket.getnameinfo": ("look up", 0),
}


class Offline(OSError):
    """The network was used, which a notebook must not need."""


def host_of(where):
    """The host in a socket address or by itself; None where there is none (Unix sockets)."""
    if isinstance(where, tuple):
        where = where[0] if where else None
    if isinstance(where, (bytes, bytearray)):
        where = where.decode(errors="replace")
    return where if isinstance(where, str) else None


def is_here(host):
    """Whether a host is this machine itself."""
    import ipaddress
    import socket

    if host in ("", "localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def refuse_the_network(event, args):
    """The audit hook; it is called for every event of the process, so it decides fast."""
    if event not in EVENTS:
        return
    verb, position = EVENTS[event]
    # A Unix socket's address is a bare path, which would read as a host.
    if position == 1 and not isinstance(args[1], tuple):
        return
    host = host_of(args[position])
    if host is None or is_here(host):
        return
    # Libraries catch errors of the network and go on: the log keeps what they hide.
    with open(LOG, "a", encoding="utf-8") as log:  # noqa: PTH123 - no import in every process
        log.write(f"{verb} {host}\n")
    raise Offline(f"refused to {verb} {host}: notebooks run without a network")


if LOG:
    sys.addaudithook(refuse_the_network)
