"""How files of each format begin, so that a reader is only imported for a file that it reads."""

import re

_HEAD_BYTES = 4096


def is_own_json(content: bytes) -> bool:
    """Our own JSON names its format near its beginning."""
    return _is_json(content) and b'"pafer-model/' in content[:_HEAD_BYTES]


def is_lightgbm(content: bytes) -> bool:
    """LightGBM's text begins with the kind of the model."""
    return re.match(rb"\s*tree\r?\nversion=", content[:64]) is not None


def is_xgboost(content: bytes) -> bool:
    """XGBoost's JSON and UBJSON begin with the learner; 3.1 and later may write the version first."""
    head = content[:_HEAD_BYTES]
    if re.match(rb"\{L\x00{7}\x07(learner|version)", head):
        return True
    return (
        _is_json(content)
        and (re.match(rb'\s*\{\s*"learner"', head) or re.match(rb'\s*\{\s*"version"', head)) is not None
    )


def is_catboost(content: bytes) -> bool:
    """CatBoost's JSON: object with members in alphabetical order, trees that are oblivious or not."""
    return (
        _is_json(content)
        and (b'"oblivious_trees"' in content or b'"trees"' in content)
        and b'"features_info"' in content
    )


def is_onnx(content: bytes) -> bool:
    """ONNX's message begins with its IR version, a small number, and then says who made it or what it is made of."""
    return re.match(rb"\x08[\x01-\x7f][\x12\x1a\x22\x28\x32\x3a\x42]", content[:8]) is not None


def is_pmml(content: bytes) -> bool:
    """XML whose first element is PMML, as far as the beginning shows."""
    head = content[:_HEAD_BYTES].lstrip(b"\xef\xbb\xbf \r\n\t")
    return head[:1] == b"<" and re.search(rb"<([\w.-]{1,40}:)?PMML[\s>]", head) is not None


def _is_json(content: bytes) -> bool:
    return content[:64].lstrip()[:1] == b"{"
