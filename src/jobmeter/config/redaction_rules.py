"""The rules that cut secrets out of text; imported only when `redaction.suspicious` found a trace of one.

A name decides first: the value of `--password` goes whatever it is, the value of `--token` or `KEY=` only if
it does not read like words and small numbers, so that `--pad-token "<pad>"` and `sort_key=val_loss` stay.
Then come places that hold secrets (URLs, headers) and known shapes. Every pattern is anchored at the start of
a word, which keeps the time linear in the length of the text.
"""

import re
from enum import Enum

from jobmeter.config import redaction_shapes
from jobmeter.config.redaction import REDACTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Trust(Enum):
    """How much a name says about its value."""

    PASSWORD = "any value"  # noqa: S105  # a name, not a password
    SECRET = "any value but a path"  # noqa: S105  # a name, not a password
    MAYBE = "a value that is no words"
    NONE = "nothing"


_PASSWORD_ENDINGS = ("password", "passwd", "passphrase", "dbpass", "userpass")
_SECRET_ENDINGS = (
    "apikey", "secretkey", "secretaccesskey", "accesskey", "authkey",
    "privatekey", "encryptionkey", "signingkey", "accountkey", "sharedkey", "subscriptionkey", "licensekey",
    "masterkey", "wandbkey", "clientsecret", "appsecret", "apisecret", "authtoken", "accesstoken",
    "apitoken", "bearertoken", "refreshtoken", "sessiontoken", "oauthtoken", "bottoken", "deploytoken",
    "privatetoken", "personaltoken", "hubtoken", "hftoken", "githubtoken", "ghtoken", "gitlabtoken",
    "slacktoken", "vaulttoken", "npmtoken", "csrftoken", "xsrftoken", "registrytoken", "credential",
    "credentials", "creds",
)  # fmt: skip
_MAYBE_ENDINGS = ("key", "token", "secret", "pass", "auth", "pwd", "pat", "jwt", "cookie", "sig", "signature")
_HARMLESS_KEYS = frozenset(
    (
        "sort", "primary", "foreign", "partition", "row", "dataset", "image", "text", "label", "target",
        "input", "output", "group", "map", "dict", "json", "column", "field", "hot", "lookup", "hash",
        "query", "value", "metric", "monitor", "cache", "run", "data", "batch", "feature", "state", "param",
        "attn", "attention", "caption", "audio", "video", "prompt", "response", "answer", "question", "id",
        "index", "public", "pub", "host",
    )
)  # fmt: skip
_HARMLESS_TOKENS = frozenset(
    (
        "bos", "eos", "pad", "unk", "sep", "cls", "mask", "stop", "special", "image", "placeholder",
        "initializer", "trigger", "class", "prompt", "start", "end", "speaker", "video", "audio", "per",
        "next", "max", "min", "num", "first", "last", "begin", "new",
    )
)  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def trust(name: str) -> Trust:
    """Judge a variable, option or field by its name."""
    words = [word.lower() for word in _WORD.findall(name)]
    joined = "".join(words)
    if joined.endswith(_PASSWORD_ENDINGS):
        return Trust.PASSWORD
    if joined.endswith(_SECRET_ENDINGS):
        return Trust.SECRET
    if not joined.endswith(_MAYBE_ENDINGS):
        return Trust.NONE
    qualifier = words[-2] if len(words) > 1 else ""
    if (words[-1] == "key" and qualifier in _HARMLESS_KEYS) or (
        words[-1] == "token" and qualifier in _HARMLESS_TOKENS
    ):
        return Trust.NONE
    return Trust.MAYBE


_PLACEHOLDER = re.compile(
    r"(?:none|null|nil|empty|dummy|true|false|yes|no|on|off|auto|\*+|x{3,}|-|\[redacted\]|\$\w+|\$\{.*\}|\$\(.*|`.*|"
    r"%\(.*|\{\{.*|<[^<>]*>|\[[A-Za-z_]+\])?\Z",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@~/-]*\Z|[\w./~-]+\.(?:pem|key|json|ya?ml|txt|toml|pub|crt|env)\Z")
_NUMBER = re.compile(r"[-+]?[\d_.,:]{0,14}(?:e[-+]?\d+)?\Z", re.IGNORECASE)
_PART = r"(?:[A-Za-z]{1,24}(?:\d{1,4}[A-Za-z]{0,2})?|\d{1,4}[A-Za-z]{0,2})"
_WORDS = re.compile(rf"{_PART}(?:[-_.:/@+ ]+{_PART})*\Z")
_SHORTEST = 8


def reads_like_words(value: str) -> bool:
    """Tell `bert-base-uncased`, `val_loss` or `0.1` from something only a machine can remember."""
    if len(value) < _SHORTEST or _NUMBER.match(value) or _PATH.match(value):
        return True
    return len(value) < 200 and _WORDS.match(value) is not None


def is_secret(level: Trust, value: str) -> bool:
    """Decide about a value, given what its name says."""
    match level:
        case Trust.NONE:
            return False
        case Trust.PASSWORD:
            return not _PLACEHOLDER.match(value)
        case Trust.SECRET:
            return not _PLACEHOLDER.match(value) and not _PATH.match(value)
        case Trust.MAYBE:
            return not _PLACEHOLDER.match(value) and not reads_like_words(value) and "://" not in value


_NAMED = re.compile(
    r"""(?<![\w.\-])(-{0,2}[A-Za-z_][\w.\-]{0,200}?)"""
    r"""(?:(\\?["']?\s{0,3}(?::=|=>|[:=])\s{0,3})|(?<=[\w])(["']?,\s?(?=["'])|[ \t]+)(?=[^\s=:]))"""
)
_QUOTED = re.compile(r"""(\\?["'])(.*?)(?=\1|\Z)""", re.DOTALL)
_BARE = re.compile(r"""(?:\$\{[^}\s]*\}|\[\w+\]|[^\s"'&;|,})\]\\]|,(?!\s*["']?[\w.-]+["']?\s*[=:]))+""")


def _redact_named(text: str) -> str:
    pieces: list[str] = []
    done = 0
    for found in _NAMED.finditer(text):
        name, _, spaced = found.groups()
        if found.start() < done or (spaced is not None and not name.startswith("-")):
            continue
        level = trust(name)
        span = None if level is Trust.NONE else _value_span(text, found.end(), level, spaced is not None)
        if span is not None:
            pieces += [text[done : span[0]], REDACTED]
            done = span[1]
    return "".join([*pieces, text[done:]])


def _value_span(text: str, begin: int, level: Trust, spaced: bool) -> tuple[int, int] | None:
    quoted = _QUOTED.match(text, begin)
    value = quoted or _BARE.match(text, begin)
    if value is None or (spaced and _is_option(value.group())):
        return None
    group = 2 if quoted else 0
    return value.span(group) if is_secret(level, value.group(group)) else None


def _is_option(word: str) -> bool:
    return word.startswith("--") or (word.startswith("-") and reads_like_words(word[1:]))


_USERINFO = re.compile(r"://([^\s:/@\"'<>]{0,100}):([^\s\"'<>]{1,300})@(?=[\w\[])")
_TOKEN_USER = re.compile(r"(https?://)([^\s:/@\"'<>]{8,300})@(?=[\w\[])")
_AUTHORIZATION = re.compile(
    r"""\b((?:proxy-)?authorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)((?:[a-z-]{4,12}\s+)?)([^\s"'\\,]+)""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"""\b(bearer\s+)([^\s"'\\,;]{8,})""", re.IGNORECASE)
_COOKIE = re.compile(r"""\b((?:set-)?cookie\s{0,2}:\s{0,3})([^"'\r\n]{8,})""", re.IGNORECASE)
_CURL_USER = re.compile(r"""(?<=\s)((?:-u|--user)(?:\s+|=)?["']?[^\s:"'-][^\s:"']*:)([^\s"']+)""")
_MYSQL_PASSWORD = re.compile(r"(\bmysql(?:dump|admin)?\b[^\n;|]{0,200}?\s-p)([^\s-][^\s]+)")
_SHORT_PASSWORD = re.compile(
    r"""(\b(?:sshpass\s+-p|redis-cli\b[^\n;|]{0,200}?\s-a|(?:docker|podman|helm|buildah)\b[^\n;|]{0,60}?\slogin\b[^\n;|]{0,200}?\s-p)\s*)([^\s]+)"""
)


def _redact_userinfo(found: "re.Match[str]") -> str:
    user, password = found.groups()
    host_and_port = "/" in password and password[:1].isdigit()
    return found.group() if host_and_port or _PLACEHOLDER.match(password) else f"://{user}:{REDACTED}@"


def _redact_token_user(found: "re.Match[str]") -> str:
    scheme, user = found.groups()
    return found.group() if reads_like_words(user) or _PLACEHOLDER.match(user) else f"{scheme}{REDACTED}@"


def _redact_second(found: "re.Match[str]") -> str:
    before, value = found.group(1), found.group(found.re.groups)
    if _PLACEHOLDER.match(value):
        return found.group()
    return "".join([before, *found.groups()[1:-1], REDACTED])


def redact_text(text: str) -> str:
    """Replace every secret the rules know."""
    text = redaction_shapes.redact_private_keys(text)
    text = _USERINFO.sub(_redact_userinfo, text)
    text = _TOKEN_USER.sub(_redact_token_user, text)
    for rule in (_AUTHORIZATION, _BEARER, _COOKIE):
        text = rule.sub(_redact_second, text)
    text = _redact_named(text)
    if "curl" in text:
        text = _CURL_USER.sub(_redact_second, text)
    for rule in (_MYSQL_PASSWORD, _SHORT_PASSWORD):
        text = rule.sub(_redact_second, text)
    return redaction_shapes.redact(text, reads_like_words=reads_like_words)


def redact_argv(argv: "Sequence[str]") -> list[str]:
    """Replace secrets argument for argument; an option's value may be the next argument."""
    redacted: list[str] = []
    level = Trust.NONE
    before = ""
    for argument in argv:
        announced = before.startswith("-") or not reads_like_words(argument)
        if is_secret(level, argument) and announced and not _is_option(argument):
            redacted.append(REDACTED)
            level = Trust.NONE
        else:
            redacted.append(_redact_argument(argument, before))
            level = trust(argument) if _is_bare_name(argument) else Trust.NONE
        before = argument
    return _redact_password_options(argv, redacted)


_NAME = re.compile(r"-{0,2}[A-Za-z][\w.-]*\Z")
_ASSIGNMENT = re.compile(r"([-+]{0,2}[A-Za-z_][\w.\-/@]*)=", re.ASCII)
_SHELL_LINE = re.compile(r"-[a-z]*c\Z")


def _is_bare_name(argument: str) -> bool:
    # without a dash only a compound name (`aws_secret_access_key VALUE`) announces a value
    return _NAME.match(argument) is not None and (argument.startswith("-") or "_" in argument)


def _redact_argument(argument: str, before: str) -> str:
    found = _ASSIGNMENT.match(argument)
    # a value may hold spaces, unless the argument is a line for a shell: `sh -c "KEY=value command"`
    if found and not _SHELL_LINE.match(before):
        value = argument[found.end() :]
        level = trust(found.group(1))
        if is_secret(level, value) and (level is not Trust.MAYBE or not any(map(str.isspace, value))):
            return f"{found.group()}{REDACTED}"
    return redact_text(argument)


_PASSWORD_OPTIONS: dict[str, tuple[str, ...]] = {
    "buildah": ("-p",),
    "docker": ("-p",),
    "helm": ("-p",),
    "podman": ("-p",),
    "redis-cli": ("-a",),
    "sshpass": ("-p",),
}

_GLUED_PASSWORD = frozenset(("mysql", "mysqldump", "mysqladmin", "sshpass"))


def _redact_password_options(argv: "Sequence[str]", redacted: list[str]) -> list[str]:
    command = argv[0].rpartition("/")[2] if argv else ""
    options = _PASSWORD_OPTIONS.get(command, ())
    if command in ("docker", "podman", "helm", "buildah") and "login" not in argv:
        options = ()  # `-p` publishes a port there
    for at in range(1, len(argv)):
        before, argument = argv[at - 1], argv[at]
        if before in options:
            redacted[at] = REDACTED
        elif command == "curl" and before in ("-u", "--user") and ":" in argument:
            redacted[at] = f"{argument.partition(':')[0]}:{REDACTED}"
        elif command in _GLUED_PASSWORD and argument.startswith("-p") and len(argument) > len("-p"):
            redacted[at] = f"-p{REDACTED}"
    return redacted
