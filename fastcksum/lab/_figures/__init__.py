"""Samples become rows, verdicts, text and files: pure functions."""
