"""How the documentation site is built: ``make docs``, or ``make site`` without running the gallery."""

import os
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import site_figures

import ostinato

project = "Ostinato"
author = "The Ostinato developers"
copyright = "the Ostinato developers"
version = release = ostinato.__version__

extensions = [
    "sphinx.ext.autodoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "site_docstrings",
    "site_pages",
    "site_contents",
]
exclude_patterns = ["_build", "gallery", "results", "dashboard", "plots", "_extensions", "**sg_execution_times.rst"]
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r".*")]  # annotations name types that are not public
suppress_warnings = ["config.cache"]
default_role = "literal"

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "attrs_inline"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True  # `np`, and not the folder that NumPy was found in
autodoc_typehints_format = "short"
autodoc_inherit_docstrings = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "Ostinato"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Ostinato"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_version_warning_banner": False,
}
html_sidebars = {"index": [], "getting-started": [], "faq": []}

copybutton_prompt_text = r"\$ |> "
copybutton_prompt_is_regexp = True

plot_gallery = str(os.environ.get("OSTINATO_GALLERY") != "0")  # "False": pages without what stories print and draw
sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["stories"],
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "within_subsection_order": "site_stories.Place",
    "image_scrapers": (site_figures.Scraper(),),
    "image_srcset": ["2x"],
    "reset_modules": ("matplotlib", "site_figures.reset"),
    "ignore_repr_types": r"matplotlib|Figure|Text|list",
}

warnings.filterwarnings("ignore", message=".*non-interactive.*")
