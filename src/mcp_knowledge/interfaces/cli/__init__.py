"""The command line: `mcp-knowledge`."""

import sys

import typer
from click.exceptions import ClickException

from mcp_knowledge.errors import KnowledgeError, StartupError
from mcp_knowledge.interfaces.cli.commands import cli
from mcp_knowledge.settings import SettingsError

EXIT_FAILED = 1
EXIT_MISUSE = 2  # wrong arguments or a configuration that cannot work


def main() -> None:
    """Run a command. Exit codes: 0 done, 1 failed, 2 wrong arguments or configuration."""
    try:
        code = cli(standalone_mode=False)
    except typer.Exit as stop:
        code = stop.exit_code
    except (typer.Abort, KeyboardInterrupt):
        print("Stopped.", file=sys.stderr)
        code = EXIT_FAILED
    except ClickException as error:
        error.show()
        code = EXIT_MISUSE
    except SettingsError as error:
        print("\n".join(error.faults), file=sys.stderr)
        code = EXIT_MISUSE
    except (KnowledgeError, StartupError) as error:
        print(error, file=sys.stderr)
        code = EXIT_FAILED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone (`| head`): nothing left to say, and nowhere to say it
        code = EXIT_FAILED
    sys.exit(code if isinstance(code, int) else 0)
