#!/usr/bin/env python3
"""Joins what emscripten made and the script of the worker: pack_browser.py SALTUS.js SALTUS.wasm WORKER.js SOLVER.js

SOLVER.js is a script with one function, saltusWorker. Its text is that of a worker, so that a page in a folder, which
may not load a worker from a file, can make one of it.
"""
import base64
import gzip
import sys
from pathlib import Path


def main():
    glue, binary, worker, solver = map(Path, sys.argv[1:])
    packed = gzip.compress(binary.read_bytes(), 9, mtime=0)
    text = base64.b64encode(packed).decode()
    solver.write_text(f"// Made by scripts/pack_browser.py: the solver, compiled for browsers.\n"
                      f"function saltusWorker() {{\n\"use strict\";\n{glue.read_text()}\n"
                      f"const solver = \"{text}\";\n{worker.read_text()}}}\n", encoding="utf-8")
    print(f"{solver}: {binary.stat().st_size / 1e6:.1f} MB of WebAssembly, {len(packed) / 1e6:.1f} MB compressed")


if __name__ == "__main__":
    main()
