"""Figures as SVG, drawn here from `ostinato.plots.data`, at the width that the page has for them."""
