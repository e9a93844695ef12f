"""Figures, tables and widgets: the only place that draws."""
