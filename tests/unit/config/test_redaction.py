"""Secrets go, everything else stays: by rule, by family of tokens, and on 200 ordinary command lines."""

import random
import shlex
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import jobmeter
from jobmeter.config import redaction, redaction_shapes

HERE = Path(__file__).parent
LINES = (HERE / "training_commands.txt").read_text().splitlines()

HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
URLSAFE = ALNUM + "_-"

FAMILIES: dict[str, list[str]] = {
    # family: prefix, alphabet, length, alphabet, length, ... as the issuers document them
    "aws access key": ["AKIA", "BASE32:16"],
    "aws session key": ["ASIA", "BASE32:16"],
    "github personal": ["ghp_", "ALNUM:36"],
    "github oauth": ["gho_", "ALNUM:36"],
    "github app": ["ghs_", "ALNUM:36"],
    "github refresh": ["ghr_", "ALNUM:36"],
    "github fine-grained": ["github_pat_", "ALNUM:22", "_", "ALNUM:59"],
    "gitlab personal": ["glpat-", "URLSAFE:20"],
    "gitlab deploy": ["gldt-", "URLSAFE:20"],
    "gitlab runner": ["glrt-", "URLSAFE:20"],
    "gitlab trigger": ["glptt-", "HEX:40"],
    "slack bot": ["xoxb-", "DIGITS:12", "-", "DIGITS:12", "-", "ALNUM:24"],
    "slack user": ["xoxp-", "DIGITS:12", "-", "DIGITS:12", "-", "DIGITS:12", "-", "HEX:32"],
    "slack app": ["xapp-1-", "UPPER:11", "-", "DIGITS:13", "-", "HEX:64"],
    "openai": ["sk-", "ALNUM:48"],
    "openai project": ["sk-proj-", "URLSAFE:74", "T3BlbkFJ", "URLSAFE:74"],
    "anthropic": ["sk-ant-api03-", "URLSAFE:93", "AA"],
    "hugging face": ["hf_", "LETTERS:34"],
    "jobmeter": ["jm_", "HEX:8", "_", "URLSAFE:43"],
    "google api": ["AIza", "URLSAFE:35"],
    "google oauth secret": ["GOCSPX-", "URLSAFE:28"],
    "stripe live": ["sk_live_", "ALNUM:24"],
    "stripe restricted": ["rk_live_", "ALNUM:24"],
    "jwt": ["eyJhbGciOiJIUzI1NiJ9.eyJ", "URLSAFE:40", ".", "URLSAFE:43"],
    "npm": ["npm_", "ALNUM:36"],
    "pypi": ["pypi-AgEIcHlwaS5vcmc", "URLSAFE:80"],
    "docker hub": ["dckr_pat_", "URLSAFE:27"],
    "sendgrid": ["SG.", "URLSAFE:22", ".", "URLSAFE:43"],
    "digitalocean": ["dop_v1_", "HEX:64"],
    "databricks": ["dapi", "HEX:32"],
    "doppler": ["dp.pt.", "ALNUM:43"],
    "shopify": ["shpat_", "HEX:32"],
    "square": ["sq0atp-", "URLSAFE:22"],
    "linear": ["lin_api_", "ALNUM:40"],
    "notion": ["ntn_", "DIGITS:11", "ALNUM:35"],
    "vault": ["hvs.", "URLSAFE:95"],
    "terraform": ["ALNUM:14", ".atlasv1.", "URLSAFE:67"],
    "atlassian": ["ATATT3", "URLSAFE:180", "=", "HEX:8"],
    "postman": ["PMAK-", "HEX:24", "-", "HEX:34"],
    "pulumi": ["pul-", "HEX:40"],
    "grafana": ["glsa_", "ALNUM:32", "_", "HEX:8"],
    "groq": ["gsk_", "ALNUM:52"],
    "nvidia": ["nvapi-", "URLSAFE:64"],
    "replicate": ["r8_", "ALNUM:37"],
    "perplexity": ["pplx-", "ALNUM:48"],
    "azure ad": ["URLSAFE0:3", "8Q~", "URLSAFE0:34"],
    "telegram": ["DIGITS:10", ":AA", "URLSAFE:33"],
    "twilio": ["SK", "HEX:32"],
    "artifactory": ["AKCp", "ALNUM:69"],
    "age": ["AGE-SECRET-KEY-1", "BASE32:58"],
    "new relic": ["NRAK-", "UPPER:27"],
    "planetscale": ["pscale_tkn_", "ALNUM:43"],
    "rubygems": ["rubygems_", "HEX:48"],
    "sentry": ["sntryu_", "HEX:64"],
    "mailgun": ["key-", "HEX:32"],
}  # fmt: skip

NAMELESS = {
    "hex 32": ["HEX:32"],
    "hex 40": ["HEX:40"],
    "hex 64": ["HEX:64"],
    "base64 40": ["BASE64:40"],
    "lower and digits 20": ["LOWER:20"],
    "letters and digits 32": ["ALNUM:32"],
    "uuid": ["HEX:8", "-", "HEX:4", "-", "HEX:4", "-", "HEX:4", "-", "HEX:12"],
}
ALPHABETS = {
    "HEX": HEX, "ALNUM": ALNUM, "LOWER": LOWER, "UPPER": UPPER, "BASE32": BASE32, "URLSAFE": URLSAFE,
    "URLSAFE0": ALNUM, "BASE64": ALNUM + "+/", "DIGITS": string.digits, "LETTERS": string.ascii_letters,
}  # fmt: skip

CONTEXTS: dict[str, Callable[[str], list[str]]] = {
    "option and value": lambda secret: ["train", "--api-key", secret, "--epochs", "3"],
    "option with equals": lambda secret: ["train", f"--auth-token={secret}", "--epochs=3"],
    "variable before a command": lambda secret: ["bash", "-c", f"KEY={secret} python train.py"],
    "url": lambda secret: ["git", "clone", f"https://oauth2:{secret}@gitlab.example.org/a/b.git"],
    "bearer header": lambda secret: ["curl", "-H", f"Authorization: Bearer {secret}", "https://example.org"],
    "key header": lambda secret: ["curl", "-H", f"X-Api-Key: {secret}", "https://example.org"],
    "json": lambda secret: ["serve", "--config", f'{{"port": 80, "token": "{secret}"}}'],
}


def generated(recipe: list[str], seed: str) -> Iterator[str]:
    draw = random.Random(seed)
    for _ in range(10):
        parts = []
        for part in recipe:
            name, colon, count = part.partition(":")
            known = colon and name in ALPHABETS
            parts.append("".join(draw.choices(ALPHABETS[name], k=int(count))) if known else part)
        yield "".join(parts)


def leaked(secret: str, written: list[str]) -> bool:
    return secret[4:-4] in " ".join(written)


@pytest.mark.parametrize("context", CONTEXTS)
def test_at_least_95_percent_of_secrets_are_cut_out_of(context: str) -> None:
    secrets = [s for name, recipe in {**FAMILIES, **NAMELESS}.items() for s in generated(recipe, name)]
    missed = [s for s in secrets if leaked(s, redaction.redact_argv(CONTEXTS[context](s)))]
    assert len(secrets) == 620
    assert len(missed) <= 0.05 * len(secrets), missed


@pytest.mark.parametrize("family", FAMILIES)
def test_a_known_token_goes_wherever_it_stands(family: str) -> None:
    for secret in generated(FAMILIES[family], family):
        assert redaction.suspicious(secret)
        assert redaction.redact_text(f"got {secret} from them") == "got [redacted] from them"


def test_there_are_200_ordinary_command_lines() -> None:
    assert len(LINES) == 200
    assert len(set(LINES)) == 200


@pytest.mark.parametrize("line", LINES)
def test_an_ordinary_command_line_stays_as_it_is(line: str) -> None:
    argv = shlex.split(line)
    assert redaction.redact_argv(argv) == argv
    assert redaction.redact_text(line) == line


@pytest.mark.parametrize(
    ("argv", "written"),
    [
        (["x", "--password", "hunter2"], ["x", "--password", "[redacted]"]),
        (["x", "--password=my pass word", "-v"], ["x", "--password=[redacted]", "-v"]),
        (["x", "--password", "/slash"], ["x", "--password", "[redacted]"]),
        (["x", "--password", "--verbose"], ["x", "--password", "--verbose"]),
        (["x", "-password", "a,b c"], ["x", "-password", "[redacted]"]),
        (["x", "wandb.api_key=0123abc"], ["x", "wandb.api_key=[redacted]"]),
        (["x", "++hub.hfToken=abc"], ["x", "++hub.hfToken=[redacted]"]),
        (["env", "DB_PASSWORD=p w", "run"], ["env", "DB_PASSWORD=[redacted]", "run"]),
        (["sh", "-c", "API_KEY=abc make -j4"], ["sh", "-c", "API_KEY=[redacted] make -j4"]),
        (["docker", "run", "-e", "PGPASSWORD=hunter2", "img"], ["docker", "run", "-e", "PGPASSWORD=[redacted]", "img"]),
        (["curl", "-u", "me:hunter2", "https://h"], ["curl", "-u", "me:[redacted]", "https://h"]),
        (["curl", "-u", "me", "https://h"], ["curl", "-u", "me", "https://h"]),
        (["/usr/bin/mysql", "-uroot", "-phunter2"], ["/usr/bin/mysql", "-uroot", "-p[redacted]"]),
        (["sshpass", "-p", "hunter2", "ssh", "h"], ["sshpass", "-p", "[redacted]", "ssh", "h"]),
        (["redis-cli", "-a", "hunter2", "ping"], ["redis-cli", "-a", "[redacted]", "ping"]),
        (["docker", "login", "-u", "me", "-p", "hunter2"], ["docker", "login", "-u", "me", "-p", "[redacted]"]),
        (["docker", "run", "-p", "80:80", "img"], ["docker", "run", "-p", "80:80", "img"]),
        (
            ["aws", "configure", "set", "aws_secret_access_key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"],
            ["aws", "configure", "set", "aws_secret_access_key", "[redacted]"],
        ),
        (["git", "clone", "https://ghx1a2b3c4d5e6@h/r"], ["git", "clone", "https://[redacted]@h/r"]),
        (["psql", "postgres://u:pw@h:5432/db"], ["psql", "postgres://u:[redacted]@h:5432/db"]),
        (["x", "redis://:pw@h"], ["x", "redis://:[redacted]@h"]),
        (["x", "http://h:8080/a@b"], ["x", "http://h:8080/a@b"]),
        ([], []),
    ],
)  # fmt: skip
def test_a_command_line_keeps_all_but_its_secret(argv: list[str], written: list[str]) -> None:
    assert redaction.redact_argv(argv) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("export API_KEY='a b' && run", "export API_KEY='[redacted]' && run"),
        ('{"password": "hunter2", "user": "me"}', '{"password": "[redacted]", "user": "me"}'),
        (r'"{\"api_key\": \"abc123\"}"', r'"{\"api_key\": \"[redacted]\"}"'),
        ("opts password=abc,user=me", "opts password=[redacted],user=me"),
        ("https://h/?api_key=abc&page=2", "https://h/?api_key=[redacted]&page=2"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"),
        ("authorization: 0123456789abcdef", "authorization: [redacted]"),
        ("Cookie: session=abc; theme=dark", "Cookie: [redacted]"),
        ("run --password hunter2 --verbose", "run --password [redacted] --verbose"),
        ("['x', '--api-key', 'abc123']", "['x', '--api-key', '[redacted]']"),
        ("Endpoint=https;AccountKey=Eby8vdM02x==;", "Endpoint=https;AccountKey=[redacted];"),
        ("curl -u me:hunter2 https://h", "curl -u me:[redacted] https://h"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAAAA\n-----END RSA PRIVATE KEY-----\nrest",
            "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----\nrest",
        ),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "-----BEGIN OPENSSH PRIVATE KEY-----[redacted]"),
        ("password=[redacted]", "password=[redacted]"),
        ("token=${TOKEN} key=$KEY", "token=${TOKEN} key=$KEY"),
        ("loss 0.31 token 4096 key 7", "loss 0.31 token 4096 key 7"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_text_keeps_all_but_its_secret(text: str, written: str) -> None:
    assert redaction.redact_text(text) == written


def test_redacting_twice_changes_nothing_more() -> None:
    secrets = [s for name, recipe in FAMILIES.items() for s in generated(recipe, name)]
    once = [redaction.redact_argv(build(secret)) for build in CONTEXTS.values() for secret in secrets]
    assert [redaction.redact_argv(argv) for argv in once] == once


def test_every_known_shape_has_a_trace_the_first_stage_looks_for() -> None:
    markers = {marker for marker, _ in redaction_shapes.SHAPES if marker}
    looked_for = {*redaction.MARKERS, *redaction.INFIXES}
    assert markers <= looked_for
    commands = {"curl ", "sshpass ", "mysql ", "redis-cli ", " login "}
    assert looked_for - markers == {"-----BEGIN", *commands}


def test_an_ordinary_job_never_pays_for_regular_expressions() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules)\n"
        "from jobmeter.config import redaction\n"
        "redaction.redact_argv(['make', '-j4', '--tokenizer', 'x', '--key-dim', '64'])\n"
        "redaction.allowed_environment({'SLURM_JOB_ID': '7'})\n"
        "print(sorted(set(sys.modules) - before))"
    )
    source = str(Path(jobmeter.__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-S", "-E", "-c", script, source], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "['jobmeter', 'jobmeter.config', 'jobmeter.config.redaction']"


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a=",
        "key=v ",
        "password='x ",
        "://a:b",
        "eyJ",
        "-----BEGIN PRIVATE KEY----- ",
        "mysql -",
        "Q~aaa0",
    ],
)
def test_a_huge_text_takes_time_in_proportion_to_its_length(unit: str) -> None:
    # quadratic behaviour would need hours for this
    text = unit * (300_000 // len(unit))
    begin = time.process_time()
    redaction.redact_text(text + " password=hunter2")
    assert time.process_time() - begin < 10


class WatchedEnvironment(dict[str, str]):
    """A real environment that notes whose value was looked at."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.looked_at: list[str] = []

    def __getitem__(self, name: str) -> str:
        self.looked_at.append(name)
        return super().__getitem__(name)


def test_only_variables_that_explain_the_job_are_looked_at() -> None:
    environ = WatchedEnvironment(
        {
            "PATH": "/bin",
            "HOME": "/root",
            "AWS_SECRET_ACCESS_KEY": "x",
            "SLURM_JOB_ID": "17",
            "SLURM_JWT": "eyJhbGciOi",
            "SLURM_PROLOG_TOKEN": "x",
            "PBS_JOBID": "4.pbs",
            "OSG_SITE": "there",
            "RANK": "3",
            "WORLD_SIZE": "8",
            "LOCAL_RANK": "3",
            "OMPI_COMM_WORLD_RANK": "3",
            "CUDA_VISIBLE_DEVICES": "0,1",
            "OMP_NUM_THREADS": "4",
            "CONDA_DEFAULT_ENV": "base",
            "VIRTUAL_ENV": "/venv",
            "LANG": "C.UTF-8",
        }
    )
    allowed = {
        "CONDA_DEFAULT_ENV": "base",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "LANG": "C.UTF-8",
        "LOCAL_RANK": "3",
        "OMPI_COMM_WORLD_RANK": "3",
        "OMP_NUM_THREADS": "4",
        "OSG_SITE": "there",
        "PBS_JOBID": "4.pbs",
        "RANK": "3",
        "SLURM_JOB_ID": "17",
        "VIRTUAL_ENV": "/venv",
        "WORLD_SIZE": "8",
    }
    assert redaction.allowed_environment(environ) == allowed
    assert sorted(environ.looked_at) == sorted(allowed)


def test_a_secret_in_an_allowed_variable_is_cut_out() -> None:
    environ = {"SLURM_JOB_COMMENT": "use --password hunter2 there"}
    assert redaction.allowed_environment(environ) == {"SLURM_JOB_COMMENT": "use --password [redacted] there"}


def test_a_document_that_holds_itself_ends() -> None:
    inner: dict[str, object] = {"token": "hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", "lr": 0.1}
    inner["again"] = [inner]
    found = redaction.redact_tree(inner)
    assert isinstance(found, dict)
    assert (found["token"], found["lr"]) == ("[redacted]", 0.1)
    assert "[too deep]" in str(found)
