"""Interrupts ./run and ./python.sh while they build, with a cmake of our own that takes long and handles SIGINT."""

import fcntl
import os
import pty
import shutil
import signal
import subprocess
import termios
import time
import unittest

from trees import ROOT, TreeTest

# As `cmake --build` with Ninja: an interruption ends it with an exit code, not by the signal.
CMAKE = """#!/usr/bin/env python3
import signal, sys, time
from pathlib import Path
tree = Path(__file__).parents[1]
def stop(number, frame):
    print("ninja: build stopped: interrupted by user.", flush=True)
    (tree / "stopped").touch()
    sys.exit(2)
if "--build" in sys.argv:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if (tree / "hangs").exists() else stop)
    (tree / "building").touch()
    if (tree / "fails").exists():
        print("error: no semicolon")
        sys.exit(1)
    time.sleep(30)
"""
LINE = "building saltus was interrupted; the next {} continues where it stopped"


def default_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Run(TreeTest):
    def setUp(self):
        super().setUp()
        for name in ("run", "python.sh", "scripts/build.sh"):
            (self.tree / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, self.tree / name)
        self.write("scripts/install_packages.sh", "#!/bin/sh\n").chmod(0o755)
        self.write("bin/cmake", CMAKE).chmod(0o755)

    def start(self, script, **streams):
        process = subprocess.Popen([self.tree / script, "M.mo"], start_new_session=True, stdin=subprocess.DEVNULL,
                                   env={**os.environ, "PATH": f"{self.tree / 'bin'}:{os.environ['PATH']}"},
                                   preexec_fn=default_signals, **streams)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
        return process

    def until(self, file, seconds=20.0):
        end = time.monotonic() + seconds
        while not (self.tree / file).exists():
            self.assertLess(time.monotonic(), end, f"no {file}")
            time.sleep(0.02)

    def interrupted(self, script, send):
        process = self.start(script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.until("building")
        send(process.pid)
        out, _ = process.communicate(timeout=20)
        self.until("stopped")
        return process.returncode, out.splitlines()

    def test_ctrl_c_and_signals_to_the_script_alone_end_the_build_with_one_line(self):
        for script, name in (("run", "./run"), ("python.sh", "./python.sh")):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                for send in (os.killpg, os.kill):
                    with self.subTest(script=script, signal=number, send=send.__name__):
                        for file in ("building", "stopped"):
                            (self.tree / file).unlink(missing_ok=True)
                        code, lines = self.interrupted(script, lambda pid: send(pid, number))
                        self.assertEqual(code, 130, lines)
                        self.assertEqual(len(lines), 2, lines)  # after "building … (first time …)"
                        self.assertEqual(lines[1], LINE.format(name))

    def test_ctrl_c_on_a_terminal_ends_with_the_line(self):
        mine, theirs = pty.openpty()

        def control():
            default_signals()
            login_tty(theirs)

        process = subprocess.Popen([self.tree / "run", "M.mo"], preexec_fn=control,
                                   env={**os.environ, "PATH": f"{self.tree / 'bin'}:{os.environ['PATH']}"})
        self.addCleanup(lambda: process.poll() is None and process.kill())
        os.close(theirs)
        self.until("building")
        os.write(mine, b"\x03")
        self.assertEqual(process.wait(timeout=20), 130)
        text = os.read(mine, 10000).decode()
        os.close(mine)
        self.assertEqual(text.splitlines()[-1], LINE.format("./run"))
        self.assertEqual(text.count("was interrupted;"), 1)

    def test_a_second_signal_does_not_wait_for_a_build_that_hangs(self):
        self.write("hangs", "")
        process = self.start("run", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.until("building")
        with self.assertRaises(subprocess.TimeoutExpired):
            os.kill(process.pid, signal.SIGINT)
            process.wait(timeout=2)
        os.kill(process.pid, signal.SIGINT)
        self.assertEqual(process.wait(timeout=10), 130)

    def test_a_build_that_fails_is_not_called_interrupted(self):
        self.write("fails", "")
        process = self.start("run", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        out, _ = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 3)
        self.assertIn("error: no semicolon\nbuilding saltus failed; the reason is above\n", out)
        self.assertNotIn("interrupted", out)


def login_tty(descriptor):
    """A session of its own, with this terminal (os.login_tty of Python 3.11)."""
    os.setsid()
    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)
    for stream in range(3):
        os.dup2(descriptor, stream)


if __name__ == "__main__":
    unittest.main()
