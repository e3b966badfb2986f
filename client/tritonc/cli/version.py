"""`tritonc --version`: this client's, and that of the service where there is one."""

from tritonc._sync.client import Client
from tritonc.cli.terminal import Terminal
from tritonc.exchange import __version__
from tritonc.service_errors import ProblemError, ServerUnavailable, UnexpectedAnswer

TIMEOUT_S = 3.0  # somebody waits for one line


def say_versions(url: str, client: Client, terminal: Terminal) -> None:
    """Write a line for each; that no service answers is no failure."""
    terminal.text(f"tritonc {__version__}")
    try:
        terminal.text(f"tritond {client.system().get('version', 'unknown')} at {url}")
    except ProblemError as error:
        terminal.say(f"tritond at {url} does not tell its version: {error}")
    except (ServerUnavailable, UnexpectedAnswer) as error:
        terminal.say(f"no tritond is asked for its version: {error}")
