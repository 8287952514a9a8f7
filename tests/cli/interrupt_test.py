#!/usr/bin/env python3
"""Ctrl-C ends a search with the best point: interrupt_test.py SALTUS"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile

MODEL = """model Cart
  input Real u;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = u - sign(v);
end Cart;
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        model, result = pathlib.Path(folder, "Cart.mo"), pathlib.Path(folder, "r.json")
        model.write_text(MODEL)
        # so many starts take hours
        command = [sys.argv[1], "optimise", str(model), "--control", "u=0:1:20", "--bounds", "u=-20:20", "--minimise",
                   "integral(u^2)", "--end", "x = 1", "--end", "v = 0", "--starts", "100000", "--max-runs", "1000000",
                   "--verbose", "--json", str(result)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as search:
            for line in search.stderr:
                if "start 2 of" in line:
                    break
            search.send_signal(signal.SIGINT)
            _, rest = search.communicate(timeout=60)
        if search.returncode != 130:
            sys.exit(f"the exit code is {search.returncode}: {rest}")
        found = json.loads(result.read_text())
        if found["status"] != "interrupted" or len(found["controls"][0]["values"]) != 20:
            sys.exit(f"the best point is not there: {found['status']}")
        if found["violation"] > 1e-6:
            sys.exit(f"the first start had found a point without violations, not {found['violation']}")


if __name__ == "__main__":
    main()
