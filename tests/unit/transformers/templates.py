"""Chat templates as models of these families have them, and conversations for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEMPLATES: Mapping[str, str] = {
    "chatml": (
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
        "{{ '<|im_start|>system\nYou are a helpful assistant<|im_end|>\n' }}{% endif %}"
        "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    ),
    "default system message": (
        "{%- if messages[0]['role'] == 'system' -%}"
        "{% set system_message = messages[0]['content'] %}"
        "{%- set loop_messages = messages[1:] -%}{%- else -%}"
        "{%- set system_message = 'Be kind.' -%}{%- set loop_messages = messages -%}{%- endif -%}"
        "{{ bos_token }}<<SYS>>{{ system_message | trim }}<</SYS>>"
        "{% for m in loop_messages %}[{{ m.role|upper }}] {{ m['content'] | trim }} {% endfor %}"
    ),
    "llama 3.1": """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
        {{- message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}{{- tool_call.arguments | tojson }}
        {{- "}" }}{{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "gemma": (
        "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
        "{{ raise_exception('System role not supported') }}{% endif %}"
        "{% for message in messages %}"
        "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('Conversation roles must alternate user/assistant/...') }}"
        "{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}"
        "{% set role = message['role'] %}{% endif %}"
        "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"
    ),
    "phi-4": (
        "{% for message in messages %}{% if (message['role'] == 'system') %}"
        "{{'<|im_start|>system<|im_sep|>' + message['content'] + '<|im_end|>'}}"
        "{% elif (message['role'] == 'user') %}"
        "{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>'}}"
        "{% elif (message['role'] == 'assistant') %}"
        "{{'<|im_start|>assistant<|im_sep|>' + message['content'] + '<|im_end|>'}}{% endif %}"
        "{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}"
    ),
    "qwen 3": """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",  # noqa: E501
    "mistral": (
        "{{ bos_token }}{% for message in messages %}"
        "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('After the system message, roles must alternate') }}{% endif %}"
        "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
        "{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}"
        "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}"
        "{% endfor %}"
    ),
    "blocks and macros": """
    {% macro say(role, text) %}
        {{ caller() }}|{{ role }}:{{ text }}
    {% endmacro %}
  {% for m in messages %}
    {% if m.role == 'system' %}{% continue %}{% endif %}
    {% if loop.index > 3 %}
      {% break %}
    {% endif %}
      {% call say(m.role, m.content|replace('e', '3')) %}{{ loop.index }}/{{ loop.length }}{% endcall %}
    {# a remark #}
    {% generation %}
       <{{ m.content|length }}>
    {% endgeneration %}
  {% else %}
     nobody
  {% endfor %}
  {% set text %}{{ '%s-%03d' % ('a', 7) }}{{ '{:>5}'.format('b') }}{% endset %}
  {{ text ~ [1, 'x'] ~ {'k': none} }}
  {{ messages|map(attribute='role')|unique|join(', ') }}{{ messages|selectattr('role', 'equalto', 'user')|list|length }}
""",  # noqa: E501
}
"""Templates by what is special about them."""

ASKED: list[dict[str, Any]] = [{"role": "user", "content": '  What is <b>it</b>, "Zoë"? '}]
LONGER: list[dict[str, Any]] = [
    *ASKED,
    {"role": "assistant", "content": "<think>\nHm.\n</think>\n\nA cat."},
    {"role": "user", "content": "Why?"},
]
BRIEFED: list[dict[str, Any]] = [{"role": "system", "content": " Be brief. "}, *LONGER]
CALLED: list[dict[str, Any]] = [
    *ASKED,
    {
        "role": "assistant",
        "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"x": "é"}}}],
    },
    {"role": "tool", "content": "{'y': 1}"},
]
TOOLS = [{"type": "function", "function": {"name": "f", "description": "<x> & 'y'"}}]
CONVERSATIONS: Mapping[str, list[dict[str, Any]]] = {
    "asked": ASKED,
    "longer": LONGER,
    "briefed": BRIEFED,
    "called": CALLED,
}

_MANY = "range(99999)"
HOSTILE = (
    f"{{% for a in {_MANY} %}}{{% for b in {_MANY} %}}{{% endfor %}}{{% endfor %}}",
    f"{{% for a in {_MANY} recursive %}}{{{{ loop({_MANY}) }}}}{{% endfor %}}",
    f"{{% for a in {_MANY} %}}" + "{% set x = 1 %}" * 2000 + "{% endfor %}",
    f"{{% for a in {_MANY} %}}{'x' * 50000}{{% endfor %}}",
    f"{{% for a in {_MANY} if a in {_MANY}|list %}}{{% endfor %}}",
    f"{{% for a in {_MANY} %}}{{% set x = ({_MANY}|list)[::-1] %}}{{% endfor %}}",
    f"{{% for a in {_MANY} %}}{{% set x = 'a' * 90000 %}}{{{{ x in x }}}}{{% endfor %}}",
    f"{{% for a in {_MANY} %}}{{{{ messages|tojson }}}}{{% endfor %}}",
    "{{ 'a' * 10**10 }}",
    "{{ [1] * 10**10 }}",
    "{{ 2**4000 * 2**4000 }}",
    "{{ 2**(2**60) }}",
    "{{ 'a'.center(10**10) }}",
    "{{ 'a'|center(10**10) }}",
    "{{ '\t'.expandtabs(10**10) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%*d' % (10**9, 1) }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ '{:{}}'.format(1, 10**9) }}",
    "{{ '{0:{w}}'|format(1) }}{{ '%1000000000d'|format(1) }}",
    "{{ [1]|batch(10**9, 'x') }}",
    "{{ [1]|slice(10**9) }}",
    "{{ 'a'|indent(10**9) }}",
    "{{ ('a\n' * 10000)|indent(90000, true) }}",
    "{{ ('a' * 100000)|replace('a', 'b' * 100000) }}",
    "{{ ('a' * 100000).replace('a', 'b' * 100000) }}",
    "{{ ('a' * 100000).replace('', 'b' * 100000) }}",
    f"{{{{ {_MANY}|join('x' * 99999) }}}}",
    "{{ ('abc' * 30000)|join('x' * 99999) }}",
    f"{{{{ ('x' * 99999).join({_MANY}|map('string')) }}}}",
    "{{ ('a' * 99999)|wordwrap(1, true, 'x' * 99999) }}",
    "{{ messages|tojson(indent=10**9) }}",
    "{{ messages|tojson(separators=('x' * 99999, ':')) }}",
    "{{ strftime_now('%1000000000d') }}",
    "{{ range(10**10)|list }}",
    "{% macro a() %}{{ a() }}{{ a() }}{% endmacro %}{{ a() }}",
    "{% macro a(n) %}{% if n %}{{ a(n - 1) }}{{ a(n - 1) }}{% endif %}{% endmacro %}{{ a(60) }}",
    *(
        "{% set ns = namespace(x=START) %}{% for i in range(60) %}{% set ns.x = MORE %}"
        "{% endfor %}USE".replace("START", start)
        .replace("MORE", more)
        .replace("USE", use)
        for start, more, use in (
            ("'aaaa'", "ns.x ~ ns.x", ""),
            ("'aaaa'", "ns.x + ns.x", ""),
            ("[1]", "ns.x + ns.x", ""),
            ("[1]", "[ns.x, ns.x]", "{{ ns.x }}"),
            ("[1]", "[ns.x, ns.x]", "{{ ns.x|tojson }}"),
            ("[1]", "[ns.x, ns.x]", "{{ ns.x == ns.x[0] }}"),
            ("(1,)", "(ns.x, ns.x)", "{{ {ns.x: 1} }}"),
            ("(1,)", "(ns.x, ns.x)", "{{ {}[ns.x] }}"),
            ("(1,)", "(ns.x, ns.x)", "{{ ns.x() }}"),
            *(
                ("[1]", "[ns.x, ns.x]", f"{{{{ {value}|{name} }}}}")
                for name in (
                    *("capitalize", "center", "e", "escape", "format", "indent", "lower", "safe"),
                    *("title", "trim", "truncate", "upper", "urlencode", "wordcount", "wordwrap"),
                    *("replace(1, 2)", "filesizeformat", "d(ns.x)", "string", "join"),
                )
                for value in ("ns.x", "{'a': ns.x}")
            ),
            ("[1]", "[ns.x, ns.x]", "{{ [ns.x]|map('upper')|list }}"),
            ("(1,)", "(ns.x, ns.x)", "{{ {}.get(ns.x) }}"),
            ("[1]", "{'a': ns.x, 'b': ns.x}", "{{ 'x' ~ ns.x }}"),
            ("[1]", "[ns.x, ns.x]", "{{ '%s' % (ns.x,) }}"),
            ("[1]", "[ns.x, ns.x]", "{{ 1 is in(ns.x) }}"),
            ("namespace()", "namespace(a=ns.x, b=ns.x)", "{{ ns.x }}"),
        )
    ),
    "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "{{ " + "-" * 30000 + "1 }}",
    "{{ 1" + "+1" * 30000 + " }}",
    "{% if 1 %}" * 500 + "{% endif %}" * 500,
    "{% for a in [1] %}" * 50 + "{% endfor %}" * 50,
    "{%" * 30000,
    "{{ lipsum(n=10**9) }}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% extends 'x' %}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ self.__init__.__globals__.x }}",
    "{{ cycler.__init__.__globals__.os.system('true') }}",
    "{{ 'a'|attr('__class__') }}",
    "{{ '{0.__class__.x}'.format(messages).y.z }}",
    "{{ messages.append(1) }}",
    "{{ messages[0].update(a=1) }}",
    "{{ messages[0].x.y }}",
    "{{ 1 / 0 }}",
    "{{ undefined_function() }}",
    "{% for %}",
    "x" * 100_000,
)
"""Templates that are endless, too large, wrong, or reach for what they must not have."""
