"""Chat templates: programs in Jinja that write a conversation as a text, rendered in a sandbox.

They are rendered as by `transformers`, with the same functions, tags and treatment of blanks, but
within bounds (`template_limits`), and with fewer filters.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from typing import Any, cast

from webnnm.backends import pyodide_host
from webnnm.core.errors import BackendError, DataError, suggestion

Message = Mapping[str, Any]
"""A message of a conversation: `{"role": "user", "content": "Hello"}`."""
MAX_TEMPLATE = 64_000
"""The most characters of a template."""
REASONING = ("reasoning_content", "thinking", "reasoning")
"""Names under which messages have thoughts; templates read the first two."""
ARCHIVE = "vendor/tokenizers/jinja2.zip"
"""Where pages have the package."""
AS_TEXT = "write the conversation as one text, in the form that the model's page describes"


@dataclass(frozen=True)
class ChatTemplate:
    """What the config of a tokenizer says: chat templates by name, the texts of special tokens.

    Attributes: `named`, the templates; `special`, such as `{"bos_token": "<s>"}`; `max_length`, the
    most tokens of a text that is cut, None if there is no limit.
    """

    named: Mapping[str, str] = field(default_factory=dict[str, str])
    special: Mapping[str, str] = field(default_factory=dict[str, str])
    max_length: int | None = None

    def choose(self, name: str | None = None, tools: Any = None) -> str:
        """Return the template of a name; without one, that for tools if there are any.

        Raises `DataError` NNM718 if the model has none, or none of that name.
        """
        if not self.named:
            raise DataError("NNM718", "the model has no chat template", hint=AS_TEXT)
        if name is None:
            name = "tool_use" if tools is not None and "tool_use" in self.named else "default"
        if name not in self.named:
            hint = suggestion(name, self.named) or f'chat_template="{next(iter(self.named))}"'
            message = f'the model has the chat templates {", ".join(self.named)}, not "{name}"'
            raise DataError("NNM718", message, hint=hint)
        return self.named[name]


def conversation(
    messages: Sequence[Message],
    template: ChatTemplate,
    /,
    *,
    chat_template: str | None = None,
    tools: Sequence[Any] | None = None,
    documents: Sequence[Any] | None = None,
    add_generation_prompt: bool = True,
    **variables: Any,
) -> str:
    """Return a conversation as a text for the model to continue.

    >>> form = ChatTemplate({"default": "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
    ...     "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"})
    >>> conversation([{"role": "user", "content": "Hello"}], form)
    '<user>Hello<assistant>'

    Raises `DataError` NNM718 for a template that is missing, wrong, or takes too long, NNM722 if it
    refuses the conversation, NNM702 for invalid messages, `BackendError` NNM709 without the package
    jinja2.
    """
    source = template.choose(chat_template, tools)
    if len(source) > MAX_TEMPLATE:
        message = f"the chat template has {len(source):,} characters, more than {MAX_TEMPLATE:,}"
        raise DataError("NNM718", message, hint=AS_TEXT)
    plain_messages = [_message(message) for message in messages]
    values = {
        **template.special,
        **cast("dict[str, Any]", _plain(variables)),
        "messages": plain_messages,
        "tools": _plain(tools),
        "documents": _plain(documents),
        "add_generation_prompt": bool(add_generation_prompt),
    }
    try:
        from webnnm.transformers.template_sandbox import Refusal, compile_template
    except ImportError as error:
        raise BackendError(
            "NNM709",
            "a chat template needs the package jinja2",
            hint="pip install 'webnnm[transformers]' on desktops, "
            f"{ARCHIVE} in pages; or {AS_TEXT}",
        ) from error
    try:
        return compile_template(source).render(values)
    except Refusal as error:
        message = f"the chat template refuses the conversation: {str(error)[:500]}"
        raise DataError("NNM722", message, hint="change the messages as it says") from error
    except Exception as error:  # a template is a program, which may raise anything
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        reason = text[:300] or type(error).__name__
        message = f"the chat template cannot be rendered: {reason}"
        raise DataError("NNM718", message, hint=AS_TEXT) from error


async def load_templates() -> None:
    """Load what templates need into a page, where it can be loaded; a template says what lacks."""
    if not pyodide_host.in_browser() or find_spec("jinja2") is not None:
        return
    address = pyodide_host.beside_pyodide("tokenizers") + Path(ARCHIVE).name
    try:
        data = await (await pyodide_host.fetch_url(address)).bytes()
    except (DataError, OSError):
        return
    target = Path(gettempdir()) / Path(ARCHIVE).name
    target.write_bytes(data)
    sys.path.append(str(target))
    invalidate_caches()


def _message(message: Any) -> dict[str, Any]:
    """Return a message for a template, without keys that are None."""
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise DataError(
            "NNM702",
            f"{str(message)[:60]} is not a message",
            hint='write {"role": "user", "content": "…"}',
        )
    plain: dict[str, Any] = {
        key: value
        for key, value in cast("dict[str, Any]", _plain(message)).items()
        if value is not None
    }
    thoughts = next((plain[name] for name in REASONING if name in plain), None)
    if thoughts is not None:
        plain = {"thinking": thoughts, **plain, "reasoning_content": thoughts}
    return plain


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a copy of a value in the types of JSON, all that templates see."""
    if value is None or isinstance(value, (bool, int, float, str)):
        for kind in (bool, int, float, str):
            if isinstance(value, kind):
                return kind(value)
        return None
    if depth > 50:
        raise DataError("NNM702", "messages are nested in more than 50 lists or objects")
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return {str(key): _plain(item, depth + 1) for key, item in pairs}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in cast("list[Any]", value)]
    return f"<{type(value).__name__}>"
