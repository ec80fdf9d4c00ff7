"""The command line: `mcp-knowledge`."""

import os
import sys
from http import HTTPStatus

from mcp_knowledge.errors import KnowledgeError, StartupError, disk_fault, is_disk_fault
from mcp_knowledge.interfaces.cli.commands import cli
from mcp_knowledge.settings import SettingsError

EXIT_FAILED = 1
EXIT_MISUSE = 2  # a configuration that cannot work; wrong arguments end so too
_FOR_THE_USER_ALONE = 0o077  # what the program stores are documents of this user, and secrets


def main() -> None:
    """Run a command. Exit codes: 0 done, 1 failed, 2 wrong arguments or configuration."""
    os.umask(_FOR_THE_USER_ALONE)
    try:
        cli()
    except SettingsError as error:
        _fail(str(error), EXIT_MISUSE)
    except KnowledgeError as error:
        _fail(str(error), EXIT_MISUSE if error.status == HTTPStatus.BAD_REQUEST else EXIT_FAILED)
    except StartupError as error:
        _fail(str(error), EXIT_FAILED)
    except KeyboardInterrupt:
        _fail("Stopped.", EXIT_FAILED)
    except BrokenPipeError:  # the reader of our output has gone (`| head`): nothing left to say, and nowhere to say it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILED)
    except OSError as error:
        if not is_disk_fault(error):
            raise
        _fail(f"{error.filename or 'A file'} cannot be used: {disk_fault(error)}", EXIT_FAILED)


def _fail(message: str, code: int) -> None:
    print(message, file=sys.stderr)
    sys.exit(code)
