#!/usr/bin/env python3
"""Checks that the source tree keeps to its own architecture: check_layers.py [ROOT]

- A layer includes, and names in its CMakeLists.txt, only the layers that LADDER allows.
- Public headers include the standard library and <saltus/...> only, start with #pragma once, and define no macros.
- Front ends include public headers only.
- Headers of the operating system are included in src/base/system only: what must be written anew elsewhere is there.
- What two sources of a layer hide in unnamed namespaces has different names: release builds compile them together, and
  an overload of the other source would be taken without a word.
- No file names a folder of somebody's machine.

Prints one line a violation, "file:line: text", and exits 1 if there are any.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

# The ladder: what a layer may include besides itself. docs/developer/architecture.md shows the same table to readers.
LADDER = {
    "base": [],
    "linalg": ["base"],
    "expr": ["base"],
    "program": ["base", "linalg", "expr"],
    "dae": ["base", "linalg"],
    "model": ["base", "linalg", "expr", "program", "dae"],
    "modelica": ["base", "expr", "model"],
    "step": ["base", "linalg", "dae"],
    "event": ["base", "linalg", "dae", "step"],
    "flight": ["base", "linalg", "expr", "program", "dae", "model", "step", "event"],
    "hybrid": ["base", "linalg", "dae", "step", "event", "flight"],
    "sens": ["base", "linalg", "expr", "program", "dae", "model", "modelica", "step", "flight", "event", "hybrid"],
    "optimise": ["base", "linalg", "expr", "program", "dae", "model", "modelica", "step", "flight", "event", "hybrid",
                 "sens"],
    "study": ["base", "linalg", "expr", "program", "dae", "model", "modelica", "step", "flight", "event", "hybrid",
              "sens"],
    "io": ["base", "dae", "hybrid", "sens", "optimise", "study"],
    "fmi": ["base", "linalg", "expr", "program", "dae", "model", "modelica", "step", "flight", "event", "hybrid"],
}

# (layer, layer): the files, as a pattern for their name, that alone may go beyond the ladder.
# simulate(model, options) is the one place where the solver meets the model.
FRONT_DOORS = {("hybrid", "model"): re.compile(r"simulate\w*\.(hpp|cpp)")}

FRONT_ENDS = ["browser", "cli", "python", "examples", "benchmarks"]

# Headers of the operating system, and the folder where they belong.
SYSTEM_HEADER = re.compile(r"(?:sys|linux|arpa|netinet)/.*|(?:unistd|fcntl|dlfcn|dirent|poll|pthread|pwd|sched"
                           r"|signal|spawn|termios|windows|io|direct|process)\.h")
SYSTEM_FOLDER = ("src", "base", "system")
SYSTEM_CHECKED = ["src", "include", "cli", "python", "browser"]

MACROS = re.compile(r"SALTUS_(EXPORT|VERSION)\w*")

# Absolute folders that exist on the machine of whoever wrote the line, and nowhere else.
MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:home|root|Users|work|mnt|scratch|tmp)/[\w.]")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)")
USES = re.compile(
    r"saltus_layer\(\s*(\w+)[^)]*?\bUSES\s+([\w\s]*?)(?:\b(?:PRIVATE|PRECOMPILE|SOURCES)\b|\))")
CODE = {".hpp", ".cpp", ".h", ".cc", ".cxx", ".hh"}
HIDDEN = [re.compile(pattern) for pattern in (
    r"(?:template <.*> )?(?:class|struct|enum(?: class)?) (\w+)(?!.*;$)",
    r"[A-Za-z_][^=;(]*?[ &*>](\w+)\((?<!__attribute__\()",
    r"(?:constexpr|inline|const|static|thread_local) [^=(]*?(\w+)(?:\[\w*\])? (?:=|\{)")]
NOT_OURS = {".git", ".cache", "build", "__pycache__"}


class Checker:
    def __init__(self, root):
        self.root = root
        self.violations = []
        self.hidden = {}  # (layer, name in an unnamed namespace): its file

    def report(self, file, line, text):
        self.violations.append(f"{file.relative_to(self.root)}:{line}: {text}")

    def files(self):
        """Every file that belongs to the tree: what git would commit, or all but build products without git."""
        names = None
        if (self.root / ".git").exists() and shutil.which("git"):
            listing = subprocess.run(
                ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                capture_output=True, check=False)
            # Git refuses to read a tree that belongs to another user.
            if listing.returncode == 0:
                names = [name.decode() for name in listing.stdout.split(b"\0") if name]
        if names is None:
            files = [f for f in self.root.rglob("*") if not NOT_OURS & set(f.relative_to(self.root).parts)]
        else:
            files = [self.root / name for name in names]
        return sorted(f for f in files if f.is_file() and not f.is_symlink())

    def check(self):
        files = self.files()
        for file in files:
            try:
                text = file.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # not a text
            for number, line in enumerate(text.splitlines(), 1):
                if match := MACHINE_PATH.search(line):
                    self.report(file, number, f"names a folder of one machine ('{match.group()}…')")
            self.check_file(file, text)
        return files

    def check_file(self, file, text):
        parts = file.relative_to(self.root).parts
        if file.suffix in CODE and parts[0] in SYSTEM_CHECKED and parts[:3] != SYSTEM_FOLDER:
            self.check_system_headers(file, text)
        if parts[:2] == ("include", "saltus"):
            if file.suffix in CODE:
                self.check_public_header(file, parts, text)
        elif parts[0] == "src" and len(parts) > 2:
            if file.suffix in CODE:
                self.check_includes(file, parts[1], text)
                if file.suffix != ".cpp":
                    self.check_pragma(file, text)
                else:
                    self.check_hidden(file, parts[1], text)
            elif file.name == "CMakeLists.txt":
                self.check_uses(file, text)
        elif parts[0] in FRONT_ENDS and file.suffix in CODE:
            self.check_front_end(file, text)
            if parts[0] == "cli" and file.suffix == ".cpp":
                self.check_hidden(file, "cli", text)

    def check_system_headers(self, file, text):
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if match and match.group(1) == "<" and SYSTEM_HEADER.fullmatch(match.group(2)):
                self.report(file, number, f"<{match.group(2)}> belongs to the operating system: only src/base/system "
                                          "includes such headers")

    def check_public_header(self, file, parts, text):
        self.check_pragma(file, text)
        if "detail" in parts:
            self.report(file, 1, "there is no detail/ under include/: private headers live beside their source in src/")
        for number, line in enumerate(text.splitlines(), 1):
            if match := DEFINE.match(line):
                if not MACROS.fullmatch(match.group(1)):
                    self.report(file, number, f"a public header must not define macros ({match.group(1)})")
            if match := INCLUDE.match(line):
                quote, name = match.groups()
                if quote == '"':
                    self.report(file, number, f'a public header includes with <saltus/...>, not "{name}"')
                elif not name.startswith("saltus/") and not re.fullmatch(r"[a-z_0-9]+", name):
                    self.report(file, number, f"a public header must not include third-party headers (<{name}>)")
        if len(parts) > 3:  # include/saltus/LAYER/file; the umbrella header beside the layers may include all of them
            self.check_includes(file, parts[2], text)

    def check_hidden(self, file, layer, text):
        inside = False
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith("namespace {"):
                inside = True
            elif line == "}  // namespace":
                inside = False
            elif inside and (match := next(filter(None, (h.match(line) for h in HIDDEN)), None)):
                other = self.hidden.setdefault((layer, match.group(1)), file)
                if other != file:
                    self.report(file, number, f"'{match.group(1)}' is also in an unnamed namespace of "
                                              f"{other.relative_to(self.root)}: release builds compile both together")

    def check_pragma(self, file, text):
        if not re.search(r"^#pragma once$", text, re.MULTILINE):
            self.report(file, 1, "a header needs #pragma once")

    def check_includes(self, file, layer, text):
        if layer not in LADDER:
            self.report(file, 1, f"'{layer}' is not a layer of the ladder (scripts/check_layers.py)")
            return
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, name = match.groups()
            if ".." in name.split("/"):
                self.report(file, number, f'"{name}": write the path from src/ on, without ".."')
                continue
            path = name.split("/")
            if path[0] == "saltus":
                path = path[1:]
                if len(path) == 1:
                    self.report(file, number, f"<{name}> is for users; a layer names what it needs")
                    continue
            elif quote == "<" or len(path) == 1:
                continue  # the standard library, a third-party header, or a file beside this one
            if path[0] not in LADDER:
                if quote == "<":
                    self.report(file, number, f"<{name}>: '{path[0]}' is not a layer of the ladder")
                continue
            if not self.allowed(file, layer, path[0]):
                self.report(file, number, f"layer '{layer}' must not include layer '{path[0]}' ({name})")

    def allowed(self, file, layer, other):
        if other == layer or other in LADDER[layer]:
            return True
        door = FRONT_DOORS.get((layer, other))
        return door is not None and door.fullmatch(file.name) is not None

    def check_uses(self, file, text):
        for layer, uses in USES.findall(text):
            for other in uses.split():
                if layer in LADDER and other not in LADDER[layer] and (layer, other) not in FRONT_DOORS:
                    self.report(file, 1, f"layer '{layer}' must not use layer '{other}' (USES)")

    def check_front_end(self, file, text):
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if match and match.group(1) == '"' and match.group(2).split("/")[0] in LADDER:
                self.report(file, number, f'front ends include public headers only, not "{match.group(2)}"')


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    checker = Checker(root)
    files = checker.check()
    for violation in checker.violations:
        print(violation)
    print(f"{len(files)} files, {len(checker.violations)} violations")
    return 1 if checker.violations or not files else 0


if __name__ == "__main__":
    sys.exit(main())
