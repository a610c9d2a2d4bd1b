"""The job was told something it does not understand: options, keys and values of its command line or config."""

import re

from jobmeter.formats.errorlines.sign import Passage, Sign, level_of, type_of

WORDS = ("unrecognized argument", "error: argument", "the following arguments are required", "invalid choice",
         "no such option", "missing option", "missing argument", "unknown option", "invalid option",
         "got unexpected extra",
         "validationerror", "validation error", "configattributeerror", "configkeyerror",
         "missingmandatoryvalue",
         "yaml.", "scannererror", "parsererror", "jsondecodeerror", "tomldecodeerror", "could not override",
         "missingconfigexception", "overrideparseexception", "configcompositionexception", "hydra",
         "usageerror",
         "invalid partition", "batch job submission failed", "unknown flag", "configurationerror",
         "configerror",
         "config file", "invalid value for", "mandatory value", "interpolationkeyerror", "badparameter",
         "error: unable to open config", "error: ambiguous option", "unable to parse config",
         "expected one argument",
         "not in struct", "parsing", "illegal option", "invalid argument", "misconfiguration", "omegaconf",
         "unrecognizedflag", "configparser")  # fmt: skip
_EXCEPTION = re.compile(
    r"\b(?:argparse\.Argument(?:Type)?Error|pydantic\S*ValidationError|ValidationError|omegaconf\.\S+"
    r"|hydra\.\S+"
    r"|MissingConfigException|ConfigAttributeError|ConfigKeyError|MissingMandatoryValue|InterpolationKeyError"
    r"|yaml\.\S*Error|(?:yaml\S*\.)?(?:ScannerError|ParserError)|toml\S*DecodeError|configparser\.\S+"
    r"|Config(?:uration)?Error"
    r"|click\.\S*(?:UsageError|BadParameter)|absl\.flags\.\S+|InvalidConfigError|UnrecognizedFlagError"
    r"|MisconfigurationException)\b"
)
_LINE = re.compile(
    r"\berror: (?:argument |unrecognized arguments?|the following arguments are required"
    r"|ambiguous option|invalid choice"
    r"|unable to open config)"
    r"|^(?:Error: )?(?:No such option|Missing option|Missing argument|Invalid value for"
    r"|Got unexpected extra argument)"
    r"|(?:unknown|unrecognized|invalid|illegal) (?:command[- ]line )?(?:option|flag)s?\b.{0,80}$"
    r"|Could not override '|Key '[^']+' is not in struct|In '[^']+': (?:Could not find|Validation error)"
    r"|Missing mandatory value: |Error parsing override|sbatch: error: (?:Batch job submission failed"
    r"|invalid|Invalid|Unable)"
    r"|(?:[Ff]ailed to|[Uu]nable to|[Cc]ould not|[Cc]annot) (?:parse|read|load|open"
    r"|find) (?:the )?config(?:uration)?\b"
    r"|[Cc]onfig(?:uration)? file .{0,120}(?:not found|does not exist|is invalid|No such file)"
    r"|Error executing job with overrides"
)
_BARE = re.compile(
    r"(?:ERROR: |Exception has occurred: |E +)?(?P<type>(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Value))(?:: .*)?"
)
"""An exception whose traceback a tool did not print, or somebody cut off."""
_JSON = re.compile(r"JSONDecodeError")
_IN_CONFIG = re.compile(r"conf(?:ig)?|settings|\.json\b|argpars", re.IGNORECASE)


def read(passage: Passage) -> Sign | None:
    """Read that the job's settings were refused."""
    if passage.level in ("INFO", "DEBUG", "WARNING"):
        return None
    text = passage.text
    if passage.exception is not None:
        found = _EXCEPTION.search(passage.exception) or _LINE.search(text)
    else:
        found = _LINE.search(text) or _bare(text)
    if found is None and _JSON.search(text) and _IN_CONFIG.search(passage.trace):
        found = _JSON.search(text)
    if found is None:
        return None
    return Sign(type=type_of(passage, "config_error"), message=text, level=level_of(passage))


def _bare(text: str) -> "re.Match[str] | None":
    bare = _BARE.fullmatch(text)
    return None if bare is None else _EXCEPTION.search(bare["type"])
