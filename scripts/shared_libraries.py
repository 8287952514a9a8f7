"""Shared libraries that a program needs, copied beside it: for packages that must run where nothing is installed.

Needs objdump and strip (binutils), patchelf and ldconfig.
"""
import re
import shutil
import subprocess
from pathlib import Path

# What every Linux of the last years has: the C and C++ libraries and zlib.
EVERYWHERE = re.compile(r"(lib(c|m|dl|pthread|rt|util|stdc\+\+|gcc_s|z)|ld-linux[-\w]*)\.so\.\d+")
# The first glibc of a system that has these symbols of libstdc++.
LIBSTDCXX = ((30, 35), (29, 34), (28, 31), (26, 28))


class Problem(Exception):
    """What cannot be done, and what to try."""


def output(*command):
    """What a command writes; a Problem if it fails."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise Problem(f"there is no program {missing.filename}; install binutils and patchelf") from None
    if done.returncode != 0:
        raise Problem(f"{' '.join(map(str, command))} failed: {done.stderr.strip()}")
    return done.stdout


def needed(file):
    """The names of the libraries that a program or library names itself."""
    return re.findall(r"^\s+NEEDED\s+(\S+)$", output("objdump", "-p", file), re.M)


def installed():
    """{name: path} of the libraries that the loader of this system finds; 64 bits before 32."""
    found = {}
    lines = re.findall(r"^\s*(\S+) \(libc6(,[^)]*)?\) => (\S+)$", output("/sbin/ldconfig", "-p"), re.M)
    for name, _, path in sorted(lines, key=lambda line: not line[1]):
        found.setdefault(name, Path(path))
    return found


def copy_libraries(files, folder):
    """Copies what `files` need and not every system has into `folder`; returns {name: where it was}."""
    system, copied, left = installed(), {}, list(files)
    folder.mkdir(parents=True, exist_ok=True)
    while left:
        for name in needed(left.pop()):
            if name in copied or EVERYWHERE.fullmatch(name):
                continue
            if name not in system:
                raise Problem(f"the library {name} is not installed here; install it and build again")
            copied[name] = system[name].resolve()
            target = folder / name
            shutil.copyfile(copied[name], target)
            target.chmod(0o755)
            output("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN", target)
            left.append(target)
    return copied


def look_in(file, place):
    """Makes the loader look for the libraries of `file` in `place`, such as $ORIGIN/../lib, before anywhere else."""
    output("strip", "--strip-unneeded", file)
    output("patchelf", "--force-rpath", "--set-rpath", place, file)


def oldest_glibc(files):
    """(2, n) of the oldest system that has all symbols of these files, by the versions of glibc and libstdc++."""
    newest = 17
    for file in files:
        symbols = output("objdump", "-T", file)
        newest = max([newest, *map(int, re.findall(r"\bGLIBC_2\.(\d+)", symbols))])
        for version in map(int, re.findall(r"\bGLIBCXX_3\.4\.(\d+)", symbols)):
            if version > LIBSTDCXX[0][0]:
                raise Problem(f"{file} needs GLIBCXX_3.4.{version}, which no system in the table LIBSTDCXX has")
            newest = max(newest, next((glibc for least, glibc in LIBSTDCXX if version >= least), newest))
    return 2, newest


def copy_licences(libraries, folder):
    """Copies the licences of the Debian packages that these libraries are from; their terms ask for it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in sorted(libraries.items()):
        owner = None
        for candidate in (path, Path("/usr") / path.relative_to("/"), Path(str(path).removeprefix("/usr"))):
            done = subprocess.run(["dpkg", "-S", str(candidate)], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                owner = done.stdout.split(":")[0]
                break
        if owner is None:
            raise Problem(f"no package has {path}, so its licence is not known")
        shutil.copyfile(f"/usr/share/doc/{owner}/copyright", folder / f"{name}.txt")
