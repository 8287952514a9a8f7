"""The command line: `saltus run MODEL.mo` of an installed package, or `python -m saltus run MODEL.mo`."""

import signal
import sys

from ._core import run_command_line


def main() -> int:
    """Runs the command line with the arguments of this process; returns its exit code."""
    # Python's own handlers wait until Python code runs again, which is at the end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return run_command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
