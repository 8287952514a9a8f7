#!/usr/bin/env python3
"""Opens the documentation, built as a site by the test site.pages, in a browser: site_browser_test.py SITE FOLDER

Skipped (exit code 77) where there is no site, Chromium, Node.js or npm, but not in continuous integration (CI=true).
"""
import os
import pathlib
import shutil
import subprocess
import sys

from browser_test import BROWSERS, install_driver, missing, program


def main():
    site, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    browser, node = os.environ.get("SALTUS_BROWSER") or program(*BROWSERS), program("node", "nodejs")
    if not (site / "index.html").exists():
        missing("the site was not built; scripts/install_packages.sh site installs what builds it")
    folder.mkdir(parents=True, exist_ok=True)
    install_driver(folder)
    script = pathlib.Path(__file__).resolve().parent / "site_test.mjs"
    shutil.copyfile(script, folder / script.name)
    return subprocess.run([node, folder / script.name, browser, site], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
