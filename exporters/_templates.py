"""Jinja templates of operators: read and tried when the service starts, in a sandbox, with bounded results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BeforeValidator

MAX_TEMPLATE_BYTES = 64 << 10
MAX_RESULT = 256 << 10
"""Characters of what a template may give."""
_ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)  # JSON or plain text


def compiled(value: object) -> jinja2.Template:
    """The template in a file. ValueError naming file, line and what was expected."""
    path = Path(str(value)).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ValueError(f"{path}: cannot be read: {reason}") from None
    if len(text) > MAX_TEMPLATE_BYTES:
        raise ValueError(f"{path}: expected at most {MAX_TEMPLATE_BYTES} characters")
    try:
        template = _ENVIRONMENT.from_string(text)
    except jinja2.TemplateSyntaxError as error:
        raise ValueError(f"{path}: line {error.lineno}: {error.message}") from None
    template.name = str(path)
    return template


Template = Annotated[Any, BeforeValidator(compiled)]
"""In settings the path of a file, inside the compiled `jinja2.Template`."""


def rendered(template: jinja2.Template, values: dict[str, Any]) -> str:
    """What the template gives. ValueError naming it, for whatever goes wrong inside."""
    parts, length = [], 0
    try:
        for part in template.generate(values):
            parts.append(part)
            length += len(part)
            if length > MAX_RESULT:
                raise ValueError(f"more than {MAX_RESULT} characters")
    except Exception as error:
        raise ValueError(f"template {template.name}: {type(error).__name__}: {error}"[:300]) from None
    return "".join(parts)
