"""Writes syntax highlighting for the notation, from the lexer and the declared operators.

The editor of the pages and the TextMate grammar for VS Code have the same patterns and words.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from tools.common import ROOT
from webnnm import ops
from webnnm.core.dtypes import PRECEDENCE
from webnnm.graph.elaboration.expand import COMMON
from webnnm.graph.elaboration.loss_words import LOSSES
from webnnm.graph.elaboration.unknown_initialiser import FORMS
from webnnm.language.signatures import choices
from webnnm.notation import lexer
from webnnm.notation.declarations import TENSOR_OPTIONS
from webnnm.notation.words import PROPERTIES
from webnnm.ops.declare.values import BOOLEANS

VSCODE = ROOT / "docs" / "vscode"
EDITOR = ROOT / "site" / "components" / "editor" / "notation.json"
NOTE = "Written by `make documents` from webnnm/notation/lexer.py and the operators of webnnm/ops"
LANGUAGE = "webnnm"


def files() -> dict[Any, str]:
    """Return the text of every file by its path."""
    contents = {
        EDITOR: {"$comment": NOTE, "patterns": patterns(), "words": words()},
        VSCODE / "syntaxes" / "webnnm.tmLanguage.json": textmate(),
        VSCODE / "language-configuration.json": configuration(),
        VSCODE / "package.json": package(),
    }
    return {
        path: json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        for path, content in contents.items()
    }


@cache
def words() -> dict[str, list[str]]:
    """Return the words of the notation by kind."""
    rules = [each.layer for each in ops.registry().values() if each.layer is not None]
    taken = {word for rule in rules for each in rule.options.values() for word in choices(each)}
    return {
        "properties": [*PROPERTIES],
        "operators": sorted(ops.operator_names()),
        "options": sorted(
            {*COMMON, *TENSOR_OPTIONS, *(name for rule in rules for name in rule.option_names())}
        ),
        "losses": [word for loss in LOSSES for word in (loss.name, *loss.aliases)],
        "types": [*PRECEDENCE],
        "values": sorted({*BOOLEANS, *FORMS, *taken} - {*PRECEDENCE}),
    }


def patterns() -> dict[str, str]:
    """Return the tokens as regular expressions that JavaScript and Oniguruma accept too."""
    patterns_by_name = {
        "word": lexer.WORDS,
        "compound": lexer.COMPOUNDS,
        "comment": lexer.COMMENT_STARTS,
        "string": lexer.STRINGS,
    }
    return {
        **{name: plain(text) for name, text in patterns_by_name.items()},
        "name": greedy(lexer.NAME_TEXTS),
    }


def plain(pattern: str) -> str:
    r"""Return a verbose pattern without the syntax that only Python accepts.

    >>> plain(r"\# | [+-]? \w++")
    '#|[+-]?\\w+'
    """
    return greedy(re.sub(r"\s+", "", pattern).replace(r"\#", "#"))


def greedy(pattern: str) -> str:
    r"""Return a pattern whose repetitions are not possessive.

    >>> greedy(r"\w++|[^*]*+")
    '\\w+|[^*]*'
    """
    # Surrogates are not characters to Oniguruma, and halves of characters to JavaScript.
    return re.sub(r"(?<!\\)([*+])\+", r"\1", pattern).replace(r"\ud800-\udfff", "")


def textmate() -> dict[str, Any]:
    """Return the TextMate grammar."""
    listed = {kind: "|".join(map(re.escape, each)) for kind, each in words().items()}
    tokens = patterns()
    scopes = {
        "header": {
            "match": r"\A\s*(webnnm)\s+(\d+(?:\.\d+)?)",
            "captures": _captures("keyword.control.header", "constant.numeric.version"),
        },
        "name": {
            "match": rf"\b(\w+)\s*(:)\s*(name)\s+({tokens['name']})",
            "captures": _captures(
                "entity.name.type.block",
                "punctuation.separator.block",
                "keyword.other.property",
                "string.unquoted.name",
            ),
        },
        "loss": {
            "match": rf"\b(\w+)\s*(:)\s*(loss)\s+({listed['losses']})\b",
            "captures": _captures(
                "entity.name.type.block",
                "punctuation.separator.block",
                "keyword.other.property",
                "support.constant.loss",
            ),
        },
        "property": {
            "match": rf"\b(\w+)\s*(:)\s*({listed['properties']})\b",
            "captures": _captures(
                "entity.name.type.block", "punctuation.separator.block", "keyword.other.property"
            ),
        },
        "operator": _scope(rf"\b({listed['operators']})\b(?=\s*\()", "support.function.operator"),
        "call": _scope(r"\b[A-Za-z_]\w*\b(?=\s*\()", "entity.name.function.block"),
        "option": _scope(rf"\b({listed['options']})\b(?=\s*=)", "variable.parameter.option"),
        "placeholder": _scope(r"\b[A-Za-z_]\w*\b(?=\s*=)", "variable.parameter.placeholder"),
        "type": _scope(rf"\b({listed['types']})\b", "storage.type.data"),
        "value": _scope(rf"(?<![\w-])({listed['values']})(?![\w-])", "constant.language.value"),
        "number": _scope(
            r"(?<![\w.])[+-]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+"
            r"|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?%?|Infinity)(?![\w.])",
            "constant.numeric",
        ),
        "string": _scope(tokens["string"], "string.quoted"),
        "comment": {
            "patterns": [
                _scope(rf"(?:{tokens['comment']}).*$", "comment.line"),
                {"begin": r"/\*", "end": r"\*/", "name": f"comment.block.{LANGUAGE}"},
            ]
        },
        "mark": _scope(r"[,;:=]", "punctuation.separator"),
    }
    # Comments come before everything but names, in which a slash is text.
    order = ["comment", "string", *(name for name in scopes if name not in ("comment", "string"))]
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "comment": NOTE,
        "name": "WebNNM",
        "scopeName": f"source.{LANGUAGE}",
        "fileTypes": ["nnm"],
        "patterns": [{"include": f"#{name}"} for name in order],
        "repository": scopes,
    }


def _scope(match: str, name: str) -> dict[str, str]:
    return {"match": match, "name": f"{name}.{LANGUAGE}"}


def _captures(*names: str) -> dict[str, dict[str, str]]:
    return {str(n): {"name": f"{name}.{LANGUAGE}"} for n, name in enumerate(names, 1)}


def configuration() -> dict[str, Any]:
    """Return the brackets, comments, folding and indentation rules for VS Code."""
    brackets = [["(", ")"], ["[", "]"], ["{", "}"]]
    return {
        "comments": {"lineComment": "#", "blockComment": ["/*", "*/"]},
        "brackets": brackets,
        "autoClosingPairs": [*brackets, ['"', '"'], ["'", "'"]],
        "surroundingPairs": [*brackets, ['"', '"'], ["'", "'"]],
        "indentationRules": {
            "increaseIndentPattern": r"^\s*\w+\s*:\s*(layers|param|constants)\s*$",
            "decreaseIndentPattern": r"^\s*[)\]}]",
        },
    }


def package() -> dict[str, Any]:
    """Return the manifest of the VS Code extension."""
    return {
        "name": "webnnm-notation",
        "displayName": "WebNNM notation",
        "description": "Colours, brackets, comments for model texts of webnnm",
        "version": "1.0.0",
        "license": "MIT",
        "publisher": "webnnm",
        "engines": {"vscode": "^1.60.0"},
        "contributes": {
            "languages": [
                {
                    "id": LANGUAGE,
                    "aliases": ["WebNNM"],
                    "extensions": [".nnm"],
                    "configuration": "./language-configuration.json",
                }
            ],
            "grammars": [
                {
                    "language": LANGUAGE,
                    "scopeName": f"source.{LANGUAGE}",
                    "path": "./syntaxes/webnnm.tmLanguage.json",
                }
            ],
        },
    }
