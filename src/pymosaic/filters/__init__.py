"""Filters of rows: what they mean, how they are written, and what engines' predicates become.

Nothing here knows an engine but Arrow. Importing the package imports nothing heavy.
"""
