"""How the site is built: `make docs`."""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import heterolda

HERE = Path(__file__).parent
sys.path.append(str(HERE))  # for the extensions below

project = "heterolda"
author = "The heterolda developers"
copyright = author
version = release = heterolda.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb"]
nitpick_ignore_regex = []

# Pages are Markdown that reads as well in the repository.
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

# One page a name; members are listed by numpydoc.
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = True
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = {"heterolda.recommended": False}

# Formulas: MathJax in one file, served with the pages.
MATHJAX = Path(find_spec("sphinx-mathjax-offline").submodule_search_locations[0])
mathjax_path = "tex-svg.js"

html_theme = "pydata_sphinx_theme"
html_title = "heterolda"
html_static_path = ["_static", str(MATHJAX / "static" / "mathjax" / mathjax_path)]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True


def strict(gallery_conf, fname, when):
    """Warnings of an example are errors, as in the tests."""
    if when == "before":
        strict.saved = warnings.filters[:]
        warnings.simplefilter("error")
    else:
        warnings.filters[:] = strict.saved


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "notebook_images": False,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", strict),
    "reset_modules_order": "both",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("heterolda",),
    "image_scrapers": ("matplotlib",),
}
