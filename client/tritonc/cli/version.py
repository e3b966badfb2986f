"""`tritonc --version`: this client's, and that of the service where there is one."""

from tritonc._sync.client import Client
from tritonc.cli.streams import write_json
from tritonc.cli.terminal import Terminal
from tritonc.exchange import __version__
from tritonc.service_errors import ProblemError, ServerUnavailable, UnexpectedAnswer

TIMEOUT_S = 3.0  # somebody waits for one line


def say_versions(url: str, client: Client, terminal: Terminal, *, as_json: bool) -> None:
    """Write a line for each, or one document; that no service answers is no failure."""
    service = None
    try:
        service = client.system().get("version")
    except ProblemError as error:
        terminal.say(f"tritond at {url} does not tell its version: {error}")
    except (ServerUnavailable, UnexpectedAnswer) as error:
        terminal.say(f"no tritond is asked for its version: {error}")
    if as_json:
        write_json({"tritonc": __version__, "tritond": service, "url": url})
        return
    terminal.text(f"tritonc {__version__}")
    if service is not None:
        terminal.text(f"tritond {service} at {url}")
