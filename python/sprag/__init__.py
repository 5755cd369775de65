"""Helpers for benchmarks in Python that `sprag run` starts. The program itself is `sprag` on the path."""
