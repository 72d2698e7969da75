"""Find the code that a planted bug replaces: within one symbol, token by token, however the code is laid out."""

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from checks.planted_bugs.bug import Edit

_LAYOUT: Final = {
    tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER,
}  # fmt: skip
_CLOSING: Final = {")", "]", "}"}


class Misplaced(Exception):
    """The anchor of an edit is not in its symbol exactly once: the bug has to be written anew."""


@dataclass(frozen=True, slots=True)
class _Token:
    """A token that is not layout, and its offsets in the source."""

    text: str
    start: int
    end: int


def planted_source(source: str, edit: Edit) -> str:
    """Replace the anchor of an edit in the source of its file.

    Raises:
        Misplaced: The symbol is not in the file, or the anchor is not in the symbol exactly once.
    """
    anchor = [token.text for token in _tokens(textwrap.dedent(edit.anchor))]
    tokens = [token for low, high in _spans(source, edit.symbol) for token in _tokens(source[low:high], low)]
    texts = [token.text for token in tokens]
    indices = [index for index in range(len(texts)) if texts[index : index + len(anchor)] == anchor]
    if len(indices) != 1:
        raise Misplaced(f"{edit.file}, {edit.symbol or 'the file'} has {len(indices)} times: {edit.anchor!r}")
    start, end = tokens[indices[0]].start, tokens[indices[0] + len(anchor) - 1].end
    return source[:start] + _moved(edit.planted, source, start) + source[end:]


def symbols(source: str) -> Iterator[tuple[str, int, int]]:
    """The functions, classes and constants of a file, outer ones first: dotted name, and the offsets of the code."""
    offsets = list(accumulate(map(len, source.splitlines(keepends=True)), initial=0))

    def within(parent: ast.AST, prefix: str) -> Iterator[tuple[str, int, int]]:
        for node in ast.iter_child_nodes(parent):
            name, first = _name_of(node)
            if not name:
                yield from within(node, prefix)
                continue
            assert isinstance(node, ast.stmt)
            yield f"{prefix}{name}", offsets[first - 1], offsets[node.end_lineno or first]
            yield from within(node, f"{prefix}{name}.")

    return within(ast.parse(source), "")


def _name_of(node: ast.AST) -> tuple[str, int]:
    """What a statement defines, if it defines one thing, and its first line with decorators."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name, min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    if len(targets) == 1 and isinstance(targets[0], ast.Name):
        return targets[0].id, targets[0].lineno
    return "", 0


def _spans(source: str, symbol: str) -> Iterator[tuple[int, int]]:
    """The offsets of a symbol's definitions: a property has several."""
    if not symbol:
        yield 0, len(source)
        return
    yield from ((start, end) for name, start, end in symbols(source) if name == symbol)


def _tokens(source: str, start: int = 0) -> list[_Token]:
    """List the tokens of a piece of code without layout and trailing commas; the piece begins at an offset."""
    offsets = list(accumulate(map(len, source.splitlines(keepends=True)), initial=start))
    tokens: list[_Token] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in _LAYOUT:
                continue
            if token.string in _CLOSING and tokens and tokens[-1].text == ",":
                tokens.pop()
            (line, column), (last, end) = token.start, token.end
            tokens.append(_Token(token.string, offsets[line - 1] + column, offsets[last - 1] + end))
    except tokenize.TokenError:
        pass  # the piece ends within brackets
    return tokens


def _moved(planted: str, source: str, start: int) -> str:
    """The planted code, its further lines indented as the line that it begins on."""
    text = planted.strip("\n")
    if not text.startswith(" "):
        return text
    line = source[source.rfind("\n", 0, start) + 1 : start]
    return textwrap.indent(textwrap.dedent(text), " " * (len(line) - len(line.lstrip()))).lstrip()
