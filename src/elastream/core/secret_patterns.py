"""What secrets look like: names whose value is one, and shapes that are one wherever they stand.

Text is searched in time that grows with its length. A pattern from outside is only ever given single words, because
`.*password.*`, which people do write, takes the square of a line's length to find nothing in it.
"""

import re
import warnings

HIDDEN = "*********(redacted)"
"""What Spark writes in the place of a secret."""

_KEYS = r"(?:access|account|api|encryption|keystore|master|private|session|shared|signing)[._\- ]?key"
_NAMES = rf"secret|passw(?:or)?d|passphrase|pwd|token|credential|jaas|authori[sz]ation|cookie|{_KEYS}"
_NAME = re.compile(_NAMES, re.IGNORECASE)
# `access.key.id` and `secretKey` too; `password-resets` and `TokenExpiredException` are names of something else.
_NAME_AT_END = re.compile(
    rf"(?:{_NAMES})(?:[._\-]?(?:base64|hash|id|key|string|text|value|\d{{1,2}}))?$", re.IGNORECASE
)
_SHORT_NAME = re.compile(r"(?:.*[._\-])?(?:auth|pass|pat|sas|sig|signature)$", re.IGNORECASE)
"""Too common in sentences; before an equals sign they mean one thing."""

_COUNTED = re.compile(
    r"tokens|token[._\-]?(?:count|index|limit|number|per|rate|size)|(?:max|min|n|num)[._\-]?token", re.IGNORECASE
)
"""Tokens are also things to count; of a password no digit may be shown."""
_NUMBER = re.compile(r"[+-]?\d[\d._,]*(?:e[+-]?\d+)?(?:%|/s|m?s)?", re.IGNORECASE)
_PROSE = re.compile(
    r"an?|and|are|at|before|expired|failed|for|from|has|in|incorrect|invalid|is|it|missing|must|no|none|not|of|on|or|"
    r"refused|rejected|required|that|the|there|this|too?|unknown|was|were|with|wrong"
)
"""What follows a colon in a sentence about a secret, and is none."""

_HEAD = re.compile(
    r"""(?<![\w.\-])(?P<key>(?:(?:access|account|api|private|secret)\s)?[\w.\-]++)"""
    r"""(?P<join>(?:\\*["'])?\s*+(?:->|=>|:=|=|:|%3[AD])\s*+(?:found\s+)?|["'],\s*+(?=["']))""",
    re.IGNORECASE,
)
"""A name and what joins it to its value."""
_FLAG = re.compile(r"(?<![\w.\-])(?P<key>--?[\w.\-]++)(?P<join>\s+)(?!-)")
_END = r"""[\])}>,.;:&!?]{0,8}(?:\s|$)|[&;][\w.\-]+=|%26|["'](?:[,}\]);:\s]|$)|\\+["']"""
_VALUE = re.compile(
    rf"""
      (?P<nested>\\++)"(?:(?!(?P=nested)").)*+(?:(?P=nested)"|$)    # JSON within JSON
    | "(?:[^"\\]|\\.|"")*+(?:"|$)               # whoever cut the text may have cut the closing quote
    | '(?:[^'\\]|\\.|'')*+(?:'|$)
    | (?:\[[^\]]*\]|\([^)]*\)|\{{[^}}]*\}})\S*?(?={_END})
    | (?:(?:Basic|Bearer|Digest|Negotiate)\s+)?\S+?(?={_END})
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_BRACKETS = {")": "(", "]": "[", "}": "{"}

_NOT_A_BEARER = r"auth\w*|credentials?|errors?|headers?|is|realm|scheme|tokens?|was"
_UP_TO_SEMICOLON = r"""(?:"[^"]*+(?:"|$)|[^;"])++"""
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)", re.DOTALL), ""),
    # A JAAS configuration ends with a semicolon, and names the user beside the password.
    (re.compile(rf"(?i)(jaas[\w.\-]*(?:\\*[\"'])?\s*[=:]\s*)(?!\*{{9}}){_UP_TO_SEMICOLON}(?:;\\?[\"']?)?"), r"\1"),
    (re.compile(rf"(?i)(LoginModule\s+(?:required|requisite|sufficient|optional)\s+){_UP_TO_SEMICOLON}"), r"\1"),
    (
        re.compile(
            r"(?i)(\bauthorization(?:\\*[\"'])?\s*[:=]\s*[\"']?(?:basic|bearer|digest|negotiate|token)\s+)[^\s\"']+"
        ),
        r"\1",
    ),
    (re.compile(rf"(?i)(\bbearer\s+)(?!(?:{_NOT_A_BEARER})\b)[\w.~+/\-]+=*"), r"\1"),
    (re.compile(r"(\b[Bb]asic\s+)(?=[A-Za-z+/]*[0-9=])[A-Za-z0-9+/]{8,}=*"), r"\1"),
    # XML, and a pair as Scala prints it.
    (re.compile(rf"(?i)(<[\w.:\-]*(?:{_NAMES})[\w.:\-]*>)[^<]+"), r"\1"),
    (re.compile(rf"(?i)(\([\w.\-]*(?:{_NAMES})[\w.\-]*,)(?=\S)(?!\*{{9}})[^)]+"), r"\1"),
    (re.compile(r"\beyJ[\w\-]{5,}\.[\w\-]{5,}(?:\.[\w\-]*)?"), ""),
    (
        re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[opsru]_\w{20,}|\bxox[abprs]-[\w\-]{10,}|\bdapi[0-9a-f]{32}\b"),
        "",
    ),
)
"""What to look for, and what of it stays."""

_PORT = r"\d{1,5}(?:[/?#,;\s\"')\]]|$)"
_ADDRESSES: tuple[tuple[re.Pattern[str], str], ...] = (
    # In the authority first, where a password may hold an @; one with a slash in it is not well-formed, but is written.
    # A path that was made of an address has lost a slash.
    (re.compile(rf"(:/{{1,2}}[^\s/:@\"'<>]*:)(?!{_PORT})(?:[^\s\"'<>/?\#]+|[^\s\"'<>]+?)(@)"), r"\1{}\2"),
    (re.compile(r"(\bhttps?:/{1,2})[^\s/:@\"'<>?#]+(@)"), r"\1{}\2"),
    (re.compile(r"(\bjdbc:oracle:\w+:[^\s/@]+/)[^\s@]+(@)"), r"\1{}\2"),
    (re.compile(r"(?<![\w/:@.\-])([\w.+\-]+:)(?!/)[^\s/@\"']+(@)(?=[A-Za-z\d][\w\-]*(?:\.[\w\-]+|:\d))"), r"\1{}\2"),
)
"""user:password before the @ of an address, and a token alone in that of a web page."""

_WORD = re.compile(r"\S{1,500}")
_DIGIT = re.compile(r"\d")
_FLAGS = re.compile(r"\(\?([a-zA-Z]+)\)")
_LITERAL = re.compile(r"\\Q(.*?)(?:\\E|$)", re.DOTALL)
_NAMED = re.compile(r"\(\?<(?=[A-Za-z])")
# Classes of characters as only Java has them, sets of such, and its other escapes.
_ONLY_JAVA = re.compile(r"\\[pP](?:\{[^}]*\}|.)|\\[hHRXe]|\[(?:[^\]\\]|\\.)*(?:&&|\[|\\[pPhH]).*?\]+")
_NOT_FOLLOWED = re.compile(r"\(\?<?!")
_MOST_OF_A_KEY = 300


def hide_secrets(text: str, own: re.Pattern[str] | None) -> str:
    """A sentence with what is secret in it replaced; `own` is a pattern of names, or values, that are secret too."""
    for shape, kept in _SHAPES:
        text = shape.sub(kept + HIDDEN, text)
    for address, kept in _ADDRESSES if "@" in text else ():
        text = address.sub(kept.format(HIDDEN), text)
    text = _hide_values_of(_HEAD, text, own)
    if "-" in text:
        text = _hide_values_of(_FLAG, text, own)
    return text if own is None else _hide_values(text, own)


def is_secret_name(name: str, own: re.Pattern[str] | None) -> bool:
    """Whether what stands under that name is secret."""
    last = name[-_MOST_OF_A_KEY:]
    return _NAME.search(last) is not None or (own is not None and own.search(last) is not None)


def is_secret_number(name: str, own: re.Pattern[str] | None) -> bool:
    """Whether a number under that name is one: a `token` is, `tokens_per_s` is a measurement."""
    last = name[-_MOST_OF_A_KEY:]
    if _COUNTED.search(last):
        return False
    return _NAME_AT_END.search(last) is not None or (own is not None and own.search(last) is not None)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern as Spark has it, in Java's syntax; ValueError where that means something else here.

    Rather too much is hidden than too little: a flag within a pattern (`secret|(?i)token`) holds for all of it here,
    and a class of characters that only Java knows (`\\p{Alpha}`) is any character.
    """
    same = _LITERAL.sub(lambda literal: re.escape(literal[1]), pattern)
    flags = {flag for found in _FLAGS.findall(same) for flag in found if flag not in "udU"}
    same = _NAMED.sub("(?P<", _FLAGS.sub("", same)).replace(r"\z", r"\Z")
    wider = _ONLY_JAVA.sub(".", same)
    if wider != same and _NOT_FOLLOWED.search(same):
        raise ValueError("what may not follow or precede is told in Java's classes of characters")
    same = wider
    try:
        with warnings.catch_warnings():
            # What Java reads as a set within a set.
            warnings.simplefilter("error", FutureWarning)
            return re.compile(f"(?{''.join(sorted(flags))}:{same})" if flags else same)
    except (re.error, FutureWarning) as wrong:
        raise ValueError(str(wrong)) from None


def _hide_values_of(names: re.Pattern[str], text: str, own: re.Pattern[str] | None) -> str:
    kept, done = [], 0
    for head in names.finditer(text):
        # What looks like a name within a value that is hidden is gone with it.
        if head.start() >= done and (end := _secret_end(head, text, own)) is not None:
            kept += [text[done : head.end()], HIDDEN]
            done = end
    return "".join([*kept, text[done:]])


def _secret_end(head: re.Match[str], text: str, own: re.Pattern[str] | None) -> int | None:
    """Where the value behind a name ends; None if it is no secret."""
    key = head["key"][-_MOST_OF_A_KEY:]
    is_own = own is not None and own.search(key) is not None
    if not is_own and _NAME.search(key) is None and _SHORT_NAME.match(key) is None:
        return None
    found = _VALUE.match(text, head.end())
    if found is None or text.startswith(HIDDEN, head.end()):
        return None
    value, end = found[0], found.end()
    if _COUNTED.search(key) and _NUMBER.fullmatch(value):
        return None
    if not is_own and not _is_secret(key, head["join"], value):
        return None
    # A bracket at the end is the sentence's, unless it was opened within the value.
    while text[end : end + 1] in _BRACKETS and value.count(_BRACKETS[text[end]]) > value.count(text[end]):
        value, end = value + text[end], end + 1
    return end


def _is_secret(key: str, join: str, value: str) -> bool:
    if join.isspace():
        return _NAME_AT_END.search(key) is not None
    is_sentence = join.endswith((": ", "found ")) and join[0] not in "\\\"'" and value[0] not in "\\\"'"
    if not is_sentence:
        return _NAME.search(key) is not None or "=" in join
    return not _PROSE.fullmatch(value) and _COUNTED.search(key) is None and _NAME_AT_END.search(key) is not None


def _hide_values(text: str, own: re.Pattern[str]) -> str:
    """What matches by itself and holds a digit is a value; without one it is a name, which may stand in a sentence."""

    def hide(found: re.Match[str]) -> str:
        return HIDDEN if _DIGIT.search(found[0]) else found[0]

    def hide_in(word: re.Match[str]) -> str:
        return word[0] if HIDDEN in word[0] or not _DIGIT.search(word[0]) else own.sub(hide, word[0])

    return _WORD.sub(hide_in, text)
