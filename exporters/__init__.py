"""Findings go out: JSON, terminal text, Markdown and a self-contained HTML page."""
