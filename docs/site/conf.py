"""The documentation as a site: how Sphinx reads the Markdown pages of this tree. scripts/make_site.sh calls it.

The pages stay plain Markdown. What a site needs besides comes from here:
- the navigation is the lists of links in docs/README.md and docs/gallery/README.md;
- a command that writes a report of the gallery, and a link to such a report, leads to the report in the site;
- notebooks are pages, with what their cells show if the Python package is there to run them;
- the pages of the gallery have links to the page that runs models in the browser (scripts/make_run_page.py).
"""

import importlib.util
import re
import shutil
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

ROOT = Path(__file__).resolve().parent.parent.parent
VERSION = re.search(r"project\(saltus VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))

project = "Saltus"
version = release = VERSION.group(1)
has_notebooks = importlib.util.find_spec("nbsphinx") is not None
extensions = ["myst_parser"] + ["nbsphinx"] * has_notebooks
nbsphinx_requirejs_path = nbsphinx_widgets_path = ""  # would be fetched from the network
nbsphinx_execute = "always" if importlib.util.find_spec("saltus") else "never"
root_doc = "README"
highlight_language = "text"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**.md"]
include_patterns += ["examples/notebooks/*.ipynb"] * has_notebooks
exclude_patterns = ["build", ".git", ".cache", "include", "src", "tests"]
myst_heading_anchors = 6  # links to headings, spelt as forges spell them
suppress_warnings = ["misc.highlighting_failure"]  # messages of the program are no source code

html_theme = "furo"
pygments_style, pygments_dark_style = "default", "github-dark"  # all colours have a contrast of at least 4.5
html_title = f"Saltus {version}"
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False
html_use_index = False
html_show_search_summary = False  # would be fetched by scripts, which browsers refuse to pages in a folder
templates_path = ["."]
html_additional_pages = {"index": "index.html"}

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+\.md)\)")
REPORT_COMMAND = re.compile(r"^\./run examples/gallery/\S+\.mo --html (\w+\.html)$")
RUN_COMMAND = re.compile(r"\./run examples/gallery/(\w+)\.mo")
RUN_PAGE = "run/index.html"  # scripts/make_site.sh puts it there
REPORTS = "reports/"  # where scripts/make_site.sh puts them
NOTEBOOKS = "\n```{toctree}\n:hidden:\n:caption: Notebooks\n:glob:\n\n/examples/notebooks/*\n```\n"


def navigation(page, folder):
    """The lists of links of a page to pages in the folder as toctree directives, one for each of its headings."""
    text = (ROOT / page).read_text(encoding="utf-8")
    directives = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE):
        caption = "" if part.startswith("# ") else f":caption: {part.splitlines()[0]}\n"
        paths = [((ROOT / page).parent / target).resolve().relative_to(ROOT) for target in LINK.findall(part)]
        entries = dict.fromkeys("/" + str(path.with_suffix("")) for path in paths if path.is_relative_to(folder))
        entries.pop("/" + root_doc, None)
        if entries:
            directives.append("\n```{toctree}\n:hidden:\n" + caption + "\n" + "\n".join(entries) + "\n```\n")
    return "".join(directives)


def run_here(docname, text, model):
    """A line that leads to the page that runs the model, as HTML: the page is none of Sphinx's."""
    link = relative_uri(docname + ".html", RUN_PAGE) + f"#example=gallery/{model}"
    return f'\n<p class="run-here"><a href="{link}">{text}</a></p>\n\n'


def add_links_to_runs(docname, source):
    if docname == root_doc:
        head, rest = source[0].split("\n\n", 1)
        text = "Run a model in this browser: nothing to install, no text leaves the page"
        source[0] = head + "\n" + run_here(docname, text, "StickSlip") + rest
    elif docname.startswith("docs/gallery/"):
        model, begin = RUN_COMMAND.search(source[0]), source[0].find("\n```console")
        if model and begin >= 0:
            text = f"Run it here: {model.group(1)} in this browser"
            source[0] = source[0][:begin] + run_here(docname, text, model.group(1)) + source[0][begin:]


def add_navigation(app, docname, source):
    add_links_to_runs(docname, source)
    if docname == root_doc:
        source[0] += "\n```{toctree}\n:hidden:\n\n/docs/README\n```\n" + navigation("docs/README.md", "")
        source[0] += NOTEBOOKS if has_notebooks else ""
    elif docname == "docs/gallery/README":
        source[0] += navigation("docs/gallery/README.md", "docs/gallery")


class ReportLinks(SphinxTransform):
    """Lets links to reports of the gallery, and the commands that write them, lead to the site's reports."""

    default_priority = 600

    def apply(self, **kwargs):
        for link in list(self.document.findall(addnodes.download_reference)):
            if link["reftarget"].endswith(".html"):
                self.replace(link, Path(link["reftarget"]).name)
        for command in list(self.document.findall(nodes.literal)):
            if match := REPORT_COMMAND.match(command.astext()):
                self.replace(command, match.group(1))

    def replace(self, node, report):
        here = self.app.builder.get_target_uri(self.env.docname)
        link = nodes.reference("", "", internal=True, refuri=relative_uri(here, REPORTS + report))
        node.replace_self(link)
        link += node.children if isinstance(node, addnodes.download_reference) else node


def mend_theme(app, exception):
    """Lets the theme work in a folder. As Debian builds Furo, it takes a style sheet from a web server, joins its
    scripts as modules, which browsers refuse to pages in a folder, and ignores that the system is set to dark colours.
    """
    if exception:
        return
    styles, scripts = Path(app.outdir) / "_static/styles", Path(app.outdir) / "_static/scripts"
    sheet = (styles / "furo.css").read_text(encoding="utf-8")
    if "url(/javascript/" in sheet:
        shutil.copyfile("/usr/share/javascript/normalize.css/normalize.css", styles / "normalize.css")
        sheet = sheet.replace("url(/javascript/normalize.css/", "url(")
    if "prefers-color-scheme" not in sheet:
        colours = re.search(r'body\[data-theme="dark"\] (\{[^}]*\})', sheet).group(1)
        # "not print and (…)" would be true wherever not both hold: also on screens with light colours
        sheet += '@media screen and (prefers-color-scheme: dark) { body:not([data-theme="light"]) ' + colours + "}\n"
    (styles / "furo.css").write_text(sheet, encoding="utf-8")
    script, module = (scripts / "furo.js").read_text(encoding="utf-8"), 'import Gumshoe from "./gumshoe-patched.js";'
    if module in script:
        part = (scripts / "gumshoe-patched.js").read_text(encoding="utf-8")
        (scripts / "furo.js").write_text(part + script.replace(module, ""), encoding="utf-8")


def write_formula(writer, node):
    """Formulas of notebooks as MathML, which browsers draw without a script."""
    writer.body.append(tex2mathml(node.astext(), inline=isinstance(node, nodes.math)))
    raise nodes.SkipNode


def drop_mathjax(app, pagename, templatename, context, doctree):
    """Leaves out the script for formulas, which notebooks would fetch from the network."""
    context["script_files"] = [file for file in context["script_files"] if "mathjax" not in file]


def setup(app):
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.add_lexer("console", TextLexer)  # a table of events has no commands
    app.connect("source-read", add_navigation)
    app.connect("build-finished", mend_theme)
    app.connect("html-page-context", drop_mathjax, priority=900)
    app.add_transform(ReportLinks)
    return {"parallel_read_safe": True}
