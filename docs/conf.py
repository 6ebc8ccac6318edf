"""How the site is built: `make docs`."""

import re
import tomllib
import warnings
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx_gallery.sorting import ExplicitOrder

import heterolda

HERE = Path(__file__).parent
# Addresses of the project stand in one file.
URLS = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
URLS = URLS["project"]["urls"]

project = "heterolda"
author = copyright = "The heterolda developers"
version = release = heterolda.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
suppress_warnings = ["config.cache"]  # `prepare` below is a function

# Pages are Markdown that reads as well in the repository.
myst_enable_extensions = ["attrs_inline", "substitution", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_substitutions = {
    "version": heterolda.__version__,
    "source": f"[source]({URLS['Source']})",
}

# One page for each public name.
autodoc_typehints = "none"
numpydoc_show_class_members = False  # the templates do
templates_path = ["_templates"]
toc_object_entries_show_parents = "hide"

# Formulas: MathJax in one file that comes with the pages.
_mathjax = find_spec("sphinx-mathjax-offline").submodule_search_locations[0]
mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}  # it stops Tab at every formula

html_theme = "pydata_sphinx_theme"
html_title = "heterolda"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static", str(Path(_mathjax, "static", "mathjax", mathjax_path))]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {"**": ["sidebar-nav-bs"]}
html_sidebars |= {page: [] for page in ("index", "explore", "getting_started")}
ICONS = {"Source": "fa-solid fa-code", "Issues": "fa-solid fa-bug"}
html_theme_options = {
    "logo": {"text": "heterolda"},
    "navbar_start": ["navbar-logo", "version"],
    "navbar_align": "left",
    "icon_links": [
        {"name": name, "url": URLS[name], "icon": icon} for name, icon in ICONS.items()
    ],
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "explore": []},
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True


def prepare(gallery_conf, fname, when):
    """Before an example: its warnings are errors, its pictures sharp enough."""
    import matplotlib

    if when == "before":
        prepare.filters = warnings.filters[:]
        warnings.simplefilter("error")
        # Some examples are about data that are not Gaussian, or few.
        for kind in (
            heterolda.exceptions.ModelMisfitWarning,
            heterolda.exceptions.SmallClassWarning,
        ):
            warnings.simplefilter("ignore", kind)
        matplotlib.rcParams["savefig.dpi"] = 150
    else:
        warnings.filters[:] = prepare.filters


# Examples in the order of reading; those that are not listed come last.
GALLERY = [
    f"plot_{name}.py"
    for name in (
        "idea",
        "lda_qda",
        "outside",
        "fixed_point",
        "rows",
        "use",
        "operating_points",
        "displays",
        "compare",
        "rings",
        "projection",
        "gaps",
        "local_search",
        "power_transformer",
        "grid_search",
        "stream",
        "dask",
        "to_c",
    )
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*$",  # other scripts do not belong to it
    "within_subsection_order": ExplicitOrder([*GALLERY, "*"]),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": float("inf"),
    "thumbnail_size": (640, 448),
    "reset_modules": ("matplotlib", prepare),
    "reset_modules_order": "both",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("heterolda",),
}


def adapt(app, name, source):
    """Change what is different in the repository and on the site."""
    # Doctests end with an empty line, and scripts of the gallery have pages here.
    text = source[0].replace("\n\n```\n", "\n```\n")
    text = re.sub(
        r"\]\((?:\.\./)*examples/(plot_\w+)\.py\)", r"](/gallery/\1.rst)", text
    )
    if name == "index":  # a short name in the header, which has one row
        text = text.replace("\napi/index\n", "\nAPI <api/index>\n")
    elif name == "results":  # pages that no other list has
        lists = [HERE / f"{page}.md" for page in ("index", "project", "results")]
        listed = "".join(page.read_text(encoding="utf-8") for page in lists)
        pages = sorted(page.stem for page in HERE.glob("*.md"))
        rest = [page for page in pages if f"\n{page}\n" not in listed + "\nindex\n"]
        text = text.rstrip().removesuffix("```") + "\n".join([*rest, "```\n"])
        app.env.note_reread()
    source[0] = text


def classify(app, doctree):
    """Tell figures from text in tables, and columns from lines in code."""
    for cell in doctree.findall(nodes.entry):
        text = cell.astext().strip()
        if len(text) > 40 or re.search(r"\w{16}", text):
            cell["classes"].append("prose")
        elif re.search(r"\d", text) and not re.search(r"[^\W\d_]{4}", text):
            cell["classes"].append("number")
    for block in doctree.findall(nodes.literal_block):
        columns = re.findall(r"(?m)^.*\S {3,}(?:#|\S.* {2,}\S).*$", block.astext())
        if len(columns) > 2:
            block["classes"].append("aligned")


def hyphenate(word):
    """Let code break after the signs in it, and nowhere else unless a part is long."""
    parts = re.split(r"(?<=\w[_/.-])(?=[^\W\d_])", word[1])
    whole = " whole" if max(map(len, parts)) <= 14 else ""
    whole = " option" if word[1].startswith("--") else whole
    hump = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=\w[=(])(?=\W?\w)")
    text = hump.sub('<wbr class="hump">', "<wbr>".join(parts))
    return f'<span class="pre{whole}">{text}</span>'


def tidy(app, name, template, context, doctree):
    """Leave out roles that do not belong there, and say where code may break."""
    if "body" in context:
        body = context["body"].replace('role="list" class="citation-list"', "")
        body = body.replace(' role="doc-biblioentry"', "")
        word = re.compile(r'<span class="pre">([^<]+)</span>')
        body = re.sub(
            "(?s)<code.*?</code>", lambda code: word.sub(hyphenate, code[0]), body
        )
        option = re.compile(r"(?<=[\s>])--[a-z][a-z-]*")
        context["body"] = re.sub(
            "(?s)<pre>.*?</pre>",
            lambda pre: option.sub(r'<span class="option">\g<0></span>', pre[0]),
            body,
        )


def setup(app):
    """Register the hooks."""
    app.connect("source-read", adapt)
    app.connect("doctree-read", classify)
    app.connect("html-page-context", tidy)
