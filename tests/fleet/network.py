"""Machines of one network, on this machine: network namespaces that one bridge joins.

Nothing here has a name outside of this process. A namespace lasts as long as its processes and
descriptors, so all of it ends with this process, even with a killed one.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.integration.service.running import Place, Process
from tests.waiting import wait_until

_NEW_MOUNTS, _NEW_NETWORK = 0x20000, 0x40000000
_PRIVATE_MOUNTS = 0x4000 | 0x40000  # MS_REC | MS_PRIVATE
_ETHTOOL, _SET_TX_CHECKSUMS = 0x8946, 0x17
_ADDRESSES = "198.18.0"
"""Of the block that RFC 2544 keeps for tests of networks."""
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Machine:
    """One network namespace; `port` is the bridge's end of its link."""

    place: Place
    namespace: int
    port: str = ""

    @property
    def address(self) -> str:
        return self.place.address

    def run(self, command: str) -> None:
        """Run a command there; its words are separated by blanks."""
        words = [*self.place.prefix, *command.split()]
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        if done.returncode:
            raise OSError(f"{command!r} ended with status {done.returncode}: {done.stderr.strip()}")


class Network:
    """A bridge and its machines. The thread that makes it enters the machine `tests` for good.

    So does every thread and process that it starts later. Mounts that it makes are seen by these
    alone. Raises OSError where the kernel, its rules or the tools do not allow all that.
    """

    def __init__(self) -> None:
        if shutil.which("nsenter") is None or shutil.which("ip") is None:
            raise OSError("no ip and nsenter on PATH (apt-get install iproute2 util-linux)")
        self._count = 0
        outside = _namespace()
        self._bridge = _machine("", _new_namespace())
        try:
            self._bridge.run("ip link add bridge type bridge")
            self._bridge.run("ip link set bridge up")
            tests = self.machine()
            _call("setns", tests.namespace, _NEW_NETWORK)
            _call("unshare", _NEW_MOUNTS)
            _call("mount", None, b"/", None, _PRIVATE_MOUNTS, None)
        except OSError:
            _call("setns", outside, _NEW_NETWORK)
            raise
        finally:
            os.close(outside)

    def machine(self) -> Machine:
        """Return a new machine with a link to the bridge."""
        self._count += 1
        port, address = f"port{self._count}", f"{_ADDRESSES}.{self._count}"
        before = _namespace()
        namespace = _new_namespace()
        machine = _machine(address, namespace, port)
        try:
            self._bridge.run(f"ip link add {port} type veth peer eth0 netns {_path(namespace)}")
            self._bridge.run(f"ip link set {port} master bridge up")
            for command in (
                "ip link set lo up",
                f"ip address add {address}/24 dev eth0",
                "ip link set eth0 up",
            ):
                machine.run(command)
            _send_whole_frames("eth0")
        finally:
            _call("setns", before, _NEW_NETWORK)
            os.close(before)
        return machine

    def cut(self, machine: Machine) -> None:
        """Take a machine's link down; its processes see no error, only silence."""
        self._bridge.run(f"ip link set {machine.port} down")

    def join(self, machine: Machine) -> None:
        self._bridge.run(f"ip link set {machine.port} up")

    @contextmanager
    def lossy(self, machine: Machine, delay_ms: float, loss: float, log: Path) -> Iterator[None]:
        """Have each frame from and to a machine take longer, and this share of them get lost."""
        port, inner, outer = machine.port, "lossy-in", "lossy-out"
        self._bridge.run(f"ip link add {inner} type veth peer {outer}")
        self._bridge.run(f"ip link set {inner} up")
        self._bridge.run(f"ip link set {outer} master bridge up")
        self._bridge.run(f"ip link set {port} nomaster")
        numbers = (str(delay_ms), str(loss))
        passing = Process(
            *(log, "-m", "tests.fleet.lossy_link", port, inner, *numbers), place=self._bridge.place
        )
        try:
            wait_until(lambda: passing.said or not passing.still_runs(), "frames pass")
            assert passing.said == "passes\n"
            yield
            assert passing.still_runs(), passing.said
        finally:
            passing.kill()
            self._bridge.run(f"ip link delete {inner}")
            self._bridge.run(f"ip link set {port} master bridge")


def small_disk(folder: Path, size_bytes: int) -> None:
    """Put a file system of this size in place of a folder, for the thread that has a network."""
    folder.mkdir(parents=True)
    options = f"size={size_bytes},mode=755".encode()
    _call("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", 0, options)


def _namespace() -> int:
    """Return a descriptor of this thread's network namespace."""
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)


def _new_namespace() -> int:
    """Enter a new network namespace, and return a descriptor of it."""
    _call("unshare", _NEW_NETWORK)
    return _namespace()


def _path(namespace: int) -> str:
    """Return a name of the namespace for other processes, while this one lives."""
    return f"/proc/{os.getpid()}/fd/{namespace}"


def _send_whole_frames(device: str) -> None:
    """Compute checksums and cut packets here: what reads raw frames would get them unfinished."""
    no_checksums = ctypes.create_string_buffer(struct.pack("II", _SET_TX_CHECKSUMS, 0))
    request = struct.pack("16sP16x", device.encode(), ctypes.addressof(no_checksums))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _ETHTOOL, request)


def _machine(address: str, namespace: int, port: str = "") -> Machine:
    enter = (str(shutil.which("nsenter")), f"--net={_path(namespace)}")
    return Machine(Place(address, enter), namespace, port)


def _call(name: str, *arguments: int | bytes | None) -> None:
    if getattr(_libc, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
