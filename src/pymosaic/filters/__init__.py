"""Row filters: their semantics, their syntax, and the translation of engine predicates.

No engine but Arrow is known here. Importing the package imports nothing heavy.
"""
