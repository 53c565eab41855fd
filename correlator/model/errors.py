"""Errors by class: what the caller should do, never what the text says."""

from __future__ import annotations


class TollensError(Exception):
    """Base of every error raised on purpose."""


class InputError(TollensError):
    """The input cannot be used at all: bad path, bad flag, nothing readable. Exit code 2."""


class ConfigError(TollensError):
    """A configuration file is wrong: path, field and what was expected."""
