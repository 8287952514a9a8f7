#!/usr/bin/env python3
"""--watch runs a model again when its file changes, --open starts a program, --log tells every step:
watch_test.py SALTUS"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

MODEL = """model A
  Real x(start = 1, fixed = true);
equation
  der(x) = {};
  annotation(experiment(StopTime = 1));
end A;
"""


def wait_for(condition, what):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    sys.exit(f"in vain: {what}")


def write(file, text):
    """In one piece, as editors do, with a time that differs from the one before."""
    other = file.with_suffix(".new")
    other.write_text(text)
    stamp = time.time() + write.count
    write.count += 2
    os.utime(other, (stamp, stamp))
    other.rename(file)


write.count = 0


def main():
    saltus = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, output = folder / "A.mo", folder / "output"
        write(model, MODEL.format("2"))
        with open(output, "w", encoding="utf-8") as out:
            command = [saltus, "run", model, "--no-plot", "--watch"]
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        try:
            printed = lambda: output.read_text(encoding="utf-8")
            wait_for(lambda: "x = 3" in printed() and printed().count("watching") == 1, "the first run")
            write(model, MODEL.format("oops"))
            wait_for(lambda: "'oops' is not declared" in printed() and printed().count("watching") == 2, "the error")
            write(model, MODEL.format("4"))
            wait_for(lambda: "x = 5" in printed() and printed().count("watching") == 3, "the run after the error")
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 0, process.returncode
        finally:
            process.kill()

        def run(*options, opener=None):
            environment = {**os.environ, **({"SALTUS_OPEN": str(opener)} if opener else {})}
            command = [saltus, "run", model, *options]
            return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

        opener = folder / "opener"
        opener.write_text('#!/bin/sh\necho "$1" >"$0.file"\n')
        opener.chmod(0o755)
        assert run("--no-plot", "-q", "--html", "a.html", "--open", opener=opener).returncode == 0
        shown = folder / "opener.file"
        wait_for(lambda: shown.exists() and shown.read_text().strip().endswith("/a.html"), "the report to be shown")
        result = run("-q", "--html", "b.html", "--open", opener="no-such-program")
        assert result.returncode == 2 and "no-such-program" in result.stderr, result.stderr

        result = run("--no-plot", "--log", "steps")
        lines = result.stderr.splitlines()
        assert lines[0].split() == ["step", "t", "size", "events", "limited", "by", "mode"], lines[0]
        steps = lines.index("steps in each tenth of the run:") - 2
        assert f" {steps} steps" in result.stdout, result.stdout  # a line for each
        assert run("--no-plot").stderr == ""  # nothing unless asked
        result = run("--no-plot", "-q", "--max-steps", "1", "--max-step", "0.1")
        assert result.returncode == 1 and "--max-steps" in result.stderr, result.stderr
    print("watched, opened and logged")


if __name__ == "__main__":
    main()
