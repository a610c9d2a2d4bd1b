"""Keep secrets out of everything written: command lines, environment values, free text.

Two stages, because importing `re` costs more than recording a short job: `suspicious` looks for the traces a
secret leaves with plain string search; only then `redaction_rules` is imported, which cuts the secret out and
keeps the rest. A secret without a telling name or a known shape (a bare random string) is not recognised.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REDACTED = "[redacted]"
TOO_DEEP = "[too deep]"
_DEEPEST = 50

NAMES = (
    "key", "token", "secret", "password", "passwd", "passphrase", "pass", "pwd", "auth", "authorization",
    "bearer", "credential", "credentials", "creds", "cookie", "jwt", "pat", "sig", "signature",
)  # fmt: skip
"""Last words of names whose value may be a secret; `--tokenizer` and `key_dim` end in none of them."""

_AFTER_NAME = frozenset("=:\"'\\ \t\r\n,")

MARKERS = (
    "AKIA", "ASIA", "A3T", "ABIA", "ACCA", "ABSK", "LTAI", "AKID", "AIza", "ya29.", "GOCSPX-", "ghp_",
    "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-",
    "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-", "GR1348941", "xox", "xapp-", "sk-", "sk_live",
    "sk_test", "sk_prod", "rk_live", "rk_test", "rk_prod", "whsec_", "hf_", "api_org_", "eyJ", "npm_",
    "pypi-", "rubygems_", "dckr_pat_", "SG.", "key-", "xkeysib-", "doo_v1_", "dop_v1_", "dor_v1_", "dapi",
    "dp.", "dt0c01.", "shpat_", "shpca_", "shppa_", "shpss_", "sq0", "EAA", "lin_api_", "ntn_", "figd_",
    "hvs.", "hvb.", "hvr.", "ATATT3", "PMAK-", "pul-", "pnu_", "rdme_", "sntry", "glsa_", "glc_", "pplx-",
    "gsk_", "xai-", "nvapi-", "r8_", "wandb_v1_", "AKCp", "cmVmd", "A3-", "AGE-SECRET-KEY-1", "p8e-",
    "4b1d", "CLOJARS_", "v1.0-", "duffel_", "EZAK", "EZTK", "FLWSECK", "FLWPUBK", "fo1_", "fm1", "fm2_",
    "fio-u-", "HRKU-AA", "ico-", "tk-us-", "sm_aat_", "sm_pat_", "sm_sat_", "shippo_", "sgp_", "pscale_",
    "tfp_", "API-", "sha256~", "NRAK-", "NRII-", "NRJS-", "t1.", "AQVN", "live_", "s-s4t2", "access-",
    "bedrock-api-key-", "jm_",
)  # fmt: skip
"""Beginnings of known tokens."""

INFIXES = (
    "-----BEGIN", "atlasv1", "_mmk", "Q~", ":AA", "/webhooks/", "_gitlab_session", "hooks.slack.com",
    "webhook.office.com", "curl ", "sshpass ", "mysql ", "redis-cli ", " login ",
)  # fmt: skip
"""Parts of known tokens that stand further in, and commands that take a password without naming it."""

_PASSWORD_COMMANDS = frozenset(
    (
        "curl",
        "sshpass",
        "mysql",
        "mysqldump",
        "mysqladmin",
        "redis-cli",
        "docker",
        "podman",
        "helm",
        "buildah",
    )
)

_DIGITS = frozenset("0123456789")
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LONG_TOKEN = 20
_SHORTEST_TOKEN = 16

_ENVIRONMENT_PREFIXES = (
    "SLURM_",
    "PBS_",
    "OSG",
    "LSB_",
    "SGE_",
    "OMPI_COMM_WORLD_",
    "PMI_",
    "TORCHELASTIC_",
    "OMP_",
)
_ENVIRONMENT_NAMES = frozenset(
    (
        "COBALT_JOBID", "CONDA_DEFAULT_ENV", "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "FLUX_JOB_ID",
        "GPU_DEVICE_ORDINAL", "GROUP_RANK", "GROUP_WORLD_SIZE", "HIP_VISIBLE_DEVICES", "JOB_ID", "JOB_NAME",
        "LANG", "LC_ALL", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "MKL_NUM_THREADS",
        "NODE_RANK", "NSLOTS", "NUMEXPR_NUM_THREADS", "NVIDIA_VISIBLE_DEVICES", "OPENBLAS_NUM_THREADS",
        "PYTORCH_CUDA_ALLOC_CONF", "RANK", "ROCR_VISIBLE_DEVICES", "ROLE_RANK", "TZ", "VIRTUAL_ENV",
        "WORLD_SIZE", "ZE_AFFINITY_MASK",
    )
)  # fmt: skip
_NEVER_IN_NAMES = ("JWT", "TOKEN", "SECRET", "PASS", "KEY", "CRED", "AUTH", "COOKIE")


def suspicious(text: str) -> bool:
    """Tell whether a text may hold a secret; cheap, and right whenever it says no."""
    if "@" in text and "://" in text:
        return True
    lower = text.lower()
    for name in NAMES:
        if name in lower and _ends_a_name(lower, name):
            return True
    if any(infix in text for infix in INFIXES):
        return True
    return any(marker in text and _begins_a_token(text, marker) for marker in MARKERS) or _has_mixed_token(
        text
    )


def redact_text(text: str) -> str:
    """Return the text with every recognised secret replaced."""
    if not suspicious(text):
        return text
    from jobmeter.config import redaction_rules

    return redaction_rules.redact_text(text)


def redact_argv(argv: "Sequence[str]") -> list[str]:
    """Return a command line with every recognised secret replaced, argument for argument."""
    # `-u name:password` of curl tells by the command alone; any other trace is inside one argument
    command = argv[0].rpartition("/")[2] if argv else ""
    if command not in _PASSWORD_COMMANDS and not suspicious("\n".join(argv)):
        return list(argv)
    from jobmeter.config import redaction_rules

    return redaction_rules.redact_argv(argv)


def redact_tree(value: object, name: str = "", depth: int = 0) -> object:
    """Return a document with every recognised secret replaced, by the name it goes by and by its looks.

    What lies too deep is left out: YAML can refer to itself.
    """
    if depth > _DEEPEST:
        return TOO_DEEP
    if isinstance(value, str):
        announced = f"{name}="
        redacted = redact_argv([announced + value])[0]
        return redacted[len(announced) :] if redacted.startswith(announced) else redacted
    if isinstance(value, dict):
        return {key: redact_tree(item, str(key), depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [redact_tree(item, name, depth + 1) for item in value]
    return value


def allowed_environment(environ: "Mapping[str, str]") -> dict[str, str]:
    """Return the variables that explain a job (scheduler, ranks, devices); no other value is read."""
    return {name: redact_text(environ[name]) for name in sorted(environ) if _is_allowed(name)}


def _is_allowed(name: str) -> bool:
    if name in _ENVIRONMENT_NAMES:
        return True
    return name.startswith(_ENVIRONMENT_PREFIXES) and not any(word in name for word in _NEVER_IN_NAMES)


def _ends_a_name(lower: str, name: str) -> bool:
    at = lower.find(name)
    while at >= 0:
        end = at + len(name)
        if lower[end : end + 1] in _AFTER_NAME or end == len(lower):
            return True
        at = lower.find(name, end)
    return False


def _begins_a_token(text: str, marker: str) -> bool:
    at = text.find(marker)
    while at >= 0:
        token = text[at : at + _SHORTEST_TOKEN].split(None, 1)[0]
        # `task-` and `--key-dim 64` are no beginnings of a token
        if len(token) == _SHORTEST_TOKEN and not (at and text[at - 1].isalnum()):
            return True
        at = text.find(marker, at + 1)
    return False


def _has_mixed_token(text: str) -> bool:
    for word in text.split():
        if (
            len(word) < _LONG_TOKEN
            or _DIGITS.isdisjoint(word)
            or _LOWER.isdisjoint(word)
            or _UPPER.isdisjoint(word)
        ):
            continue
        # a path is mixed too, but its parts are short
        if any(len(part) >= _LONG_TOKEN for part in word.split("/")):
            return True
    return False
