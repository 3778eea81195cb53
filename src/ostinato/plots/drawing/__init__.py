"""The figures, drawn with matplotlib: one module a figure. Import nothing from here where none is drawn."""
