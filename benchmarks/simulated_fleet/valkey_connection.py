"""A blocking connection to Valkey, and what Valkey says of itself."""

import socket
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import unquote

import hiredis
from redis.exceptions import NoScriptError, ResponseError

_READ_BYTES: Final = 1 << 20


class Connection:
    """A blocking connection to Valkey."""

    def __init__(self, url: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(unquote(url.removeprefix("unix://")))
        self._reader = hiredis.Reader(replyError=_error)

    def send(self, commands: Sequence[Sequence[Any]]) -> None:
        """Send commands."""
        packed = b"".join(hiredis.pack_command(_plain(words)) for words in commands)
        self.socket.sendall(packed)

    def ask(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Send commands and return their answers."""
        self.send(commands)
        return self.read(len(commands))

    def read(self, count: int) -> list[Any]:
        """Wait for so many answers."""
        answers: list[Any] = []
        while len(answers) < count:
            answer = self._reader.gets()
            if answer is not False:
                answers.append(answer)
            elif data := self.socket.recv(_READ_BYTES):
                self._reader.feed(data)
            else:
                raise ConnectionError("Valkey ended; see its log")
        return answers

    def read_all(self) -> list[Any]:
        """Return what has arrived."""
        self._reader.feed(self.socket.recv(_READ_BYTES))
        answers = []
        while (answer := self._reader.gets()) is not False:
            answers.append(answer)
        return answers


def processor_s(connection: Connection) -> float:
    """Return the processor seconds of Valkey's main thread so far."""
    told = _info(connection, "cpu")
    return float(told["used_cpu_user_main_thread"]) + float(told["used_cpu_sys_main_thread"])


def memory_bytes(connection: Connection) -> int:
    """Return the memory that Valkey uses."""
    return int(_info(connection, "memory")["used_memory"])


def _info(connection: Connection, section: str) -> dict[str, str]:
    (text,) = connection.ask([("INFO", section)])
    return dict(line.split(":", 1) for line in text.decode().splitlines() if ":" in line)


def _error(message: str) -> Exception:
    return NoScriptError(message) if message.startswith("NOSCRIPT") else _fail(message)


def _fail(message: str) -> Exception:
    raise ResponseError(message)


def _plain(words: Sequence[Any]) -> tuple[Any, ...]:
    words = (*words[0].split(), *words[1:])  # such as "SCRIPT LOAD"
    return tuple(
        word if isinstance(word, (str, bytes, int, float)) else bytes(word) for word in words
    )
