"""Tokens that can be told by their look alone, wherever they stand.

Each row: the marker `redaction.suspicious` looks for (empty where only the mix of characters tells), and the
pattern. Lengths are lower bounds of what the issuers publish; a longer token is redacted whole.
"""

import re

from jobmeter.config.redaction import REDACTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES: tuple[tuple[str, str], ...] = (
    ("AKIA", r"AKIA[A-Z2-7]{16}"),
    ("ASIA", r"ASIA[A-Z2-7]{16}"),
    ("A3T", r"A3T[A-Z0-9][A-Z2-7]{16}"),
    ("ABIA", r"ABIA[A-Z2-7]{16}"),
    ("ACCA", r"ACCA[A-Z2-7]{16}"),
    ("ABSK", r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    ("LTAI", r"LTAI[A-Za-z0-9]{12,}"),
    ("AKID", r"AKID[A-Za-z0-9]{28,}"),
    ("AIza", r"AIza[\w-]{35,}"),
    ("ya29.", r"ya29\.[\w-]{20,}"),
    ("GOCSPX-", r"GOCSPX-[\w-]{20,}"),
    ("ghp_", r"ghp_[A-Za-z0-9]{30,}"),
    ("gho_", r"gho_[A-Za-z0-9]{30,}"),
    ("ghu_", r"ghu_[A-Za-z0-9]{30,}"),
    ("ghs_", r"ghs_[A-Za-z0-9]{30,}"),
    ("ghr_", r"ghr_[A-Za-z0-9]{30,}"),
    ("github_pat_", r"github_pat_\w{50,}"),
    ("glpat-", r"glpat-[\w.-]{20,}"),
    ("gldt-", r"gldt-[\w-]{20,}"),
    ("glrt-", r"glrt-[\w.-]{20,}"),
    ("glcbt-", r"glcbt-[\w-]{20,}"),
    ("glptt-", r"glptt-[0-9a-f]{40}"),
    ("glft-", r"glft-[\w-]{20,}"),
    ("glimt-", r"glimt-[\w-]{20,}"),
    ("glagent-", r"glagent-[\w-]{40,}"),
    ("gloas-", r"gloas-[\w-]{40,}"),
    ("glsoat-", r"glsoat-[\w-]{20,}"),
    ("glffct-", r"glffct-[\w-]{20,}"),
    ("GR1348941", r"GR1348941[\w-]{20,}"),
    ("_gitlab_session", r"(?<=_gitlab_session=)[0-9a-z]{32,}"),
    ("xox", r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}"),
    ("xapp-", r"xapp-\d-[A-Za-z0-9-]{10,}"),
    ("hooks.slack.com", r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}"),
    ("/webhooks/", r"(?<=/webhooks/)\d{15,}/[\w-]{40,}"),
    ("webhook.office.com", r"(?<=webhook\.office\.com/)webhookb2/[\w@/-]{60,}"),
    ("sk-", r"sk-[\w-]{20,}"),
    ("sk_live", r"sk_live_[A-Za-z0-9]{10,}"),
    ("sk_test", r"sk_test_[A-Za-z0-9]{10,}"),
    ("sk_prod", r"sk_prod_[A-Za-z0-9]{10,}"),
    ("rk_live", r"rk_live_[A-Za-z0-9]{10,}"),
    ("rk_test", r"rk_test_[A-Za-z0-9]{10,}"),
    ("rk_prod", r"rk_prod_[A-Za-z0-9]{10,}"),
    ("whsec_", r"whsec_[A-Za-z0-9+/=]{20,}"),
    ("hf_", r"hf_[A-Za-z0-9]{30,}"),
    ("api_org_", r"api_org_[A-Za-z]{30,}"),
    ("jm_", r"jm_[0-9a-f]{8}_[\w-]{43}"),
    ("eyJ", r"(?:ops_|sntrys_)?eyJ[\w+/=-]{8,}(?:\.[\w-]{8,}(?:\.[\w-]*)?|[\w+/=-]{50,})"),
    ("npm_", r"npm_[A-Za-z0-9]{36}"),
    ("pypi-", r"pypi-[\w-]{50,}"),
    ("rubygems_", r"rubygems_[a-f0-9]{48}"),
    ("dckr_pat_", r"dckr_pat_[\w-]{20,}"),
    ("SG.", r"SG\.[\w=.-]{40,}"),
    ("key-", r"(?:pub)?key-[0-9a-f]{32}"),
    ("xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("doo_v1_", r"doo_v1_[a-f0-9]{64}"),
    ("dop_v1_", r"dop_v1_[a-f0-9]{64}"),
    ("dor_v1_", r"dor_v1_[a-f0-9]{64}"),
    ("dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    ("dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9]{40,}"),
    ("dt0c01.", r"dt0c01\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    ("shpat_", r"shpat_[a-fA-F0-9]{32}"),
    ("shpca_", r"shpca_[a-fA-F0-9]{32}"),
    ("shppa_", r"shppa_[a-fA-F0-9]{32}"),
    ("shpss_", r"shpss_[a-fA-F0-9]{32}"),
    ("sq0", r"sq0(?:atp|csp|idp)-[\w-]{22,}"),
    ("EAA", r"EAA[A-Z][\w-]{40,}"),
    ("lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    ("ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    ("figd_", r"figd_[\w-]{40,}"),
    ("hvs.", r"hvs\.[\w-]{20,}"),
    ("hvb.", r"hvb\.[\w-]{20,}"),
    ("hvr.", r"hvr\.[\w-]{20,}"),
    ("atlasv1", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}"),
    ("ATATT3", r"ATATT3[\w=-]{50,}"),
    ("PMAK-", r"PMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}"),
    ("pul-", r"pul-[a-f0-9]{40}"),
    ("pnu_", r"pnu_[A-Za-z0-9]{36}"),
    ("rdme_", r"rdme_[a-z0-9]{70}"),
    ("sntry", r"sntryu_[a-f0-9]{64}"),
    ("glsa_", r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    ("glc_", r"glc_[A-Za-z0-9+/]{32,}={0,3}"),
    ("pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    ("gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    ("xai-", r"xai-[A-Za-z0-9]{60,}"),
    ("nvapi-", r"nvapi-[\w-]{40,}"),
    ("r8_", r"r8_[A-Za-z0-9]{30,}"),
    ("wandb_v1_", r"wandb_v1_[\w-]{40,}"),
    ("AKCp", r"AKCp[A-Za-z0-9]{60,}"),
    ("cmVmd", r"cmVmd[A-Za-z0-9]{59}"),
    ("A3-", r"A3-[A-Z0-9]{6}-[A-Z0-9]{6,11}(?:-[A-Z0-9]{5}){3,4}"),
    ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("p8e-", r"p8e-[A-Za-z0-9]{32}"),
    ("4b1d", r"4b1d[A-Za-z0-9]{38}"),
    ("CLOJARS_", r"CLOJARS_[A-Za-z0-9]{60}"),
    ("v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    ("duffel_", r"duffel_(?:test|live)_[\w=-]{43}"),
    ("EZAK", r"EZAK[A-Za-z0-9]{54}"),
    ("EZTK", r"EZTK[A-Za-z0-9]{54}"),
    ("FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
    ("FLWPUBK", r"FLWPUBK(?:_TEST)?-[A-Za-z0-9]{32}-X"),
    ("fo1_", r"fo1_[\w-]{43}"),
    ("fm1", r"fm1[ar]_[A-Za-z0-9+/]{90,}={0,3}"),
    ("fm2_", r"fm2_[A-Za-z0-9+/]{90,}={0,3}"),
    ("fio-u-", r"fio-u-[\w=-]{64}"),
    ("HRKU-AA", r"HRKU-AA[\w-]{58}"),
    ("ico-", r"ico-[A-Za-z0-9]{32}"),
    ("tk-us-", r"tk-us-[\w-]{48}"),
    ("sm_aat_", r"sm_aat_[A-Za-z0-9]{16}"),
    ("sm_pat_", r"sm_pat_[A-Za-z0-9]{16}"),
    ("sm_sat_", r"sm_sat_[A-Za-z0-9]{16}"),
    ("shippo_", r"shippo_(?:live|test)_[a-fA-F0-9]{40}"),
    ("sgp_", r"sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}"),
    ("pscale_", r"pscale_(?:tkn|oauth|pw)_[\w=.-]{32,}"),
    ("tfp_", r"tfp_[\w=.-]{59}"),
    ("_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ("API-", r"API-[A-Z0-9]{26}"),
    ("sha256~", r"sha256~[\w-]{43}"),
    ("NRAK-", r"NRAK-[A-Z0-9a-z]{27}"),
    ("NRII-", r"NRII-[A-Za-z0-9-]{32}"),
    ("NRJS-", r"NRJS-[a-f0-9]{19}"),
    ("Q~", r"[\w~.]{3}\dQ~[\w~.-]{31,34}"),
    (":AA", r"\d{8,10}:AA[\w-]{33}"),
    ("t1.", r"t1\.[\w-]+={0,2}\.[\w-]{86}={0,2}"),
    ("AQVN", r"AQVN[\w-]{35,}"),
    ("live_", r"live_(?:pub_)?[a-f0-9]{31,35}"),
    ("access-", r"access-(?:sandbox|development|production)-[0-9a-f-]{36}"),
    ("s-s4t2", r"s-s4t2(?:ud|af)-[a-f0-9]{64}"),
    ("bedrock-api-key-", r"bedrock-api-key-[\w=+/-]{20,}"),
    ("", r"SK[0-9a-fA-F]{32}"),
    ("", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("", r"[MNO][A-Za-z0-9_-]{22,27}\.[\w-]{6}\.[\w-]{27,}"),
    ("", r"(?:pat|sat)\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
)

_PRIVATE_KEY = re.compile(
    r"(-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----).*?(-----END[ A-Z0-9_-]{0,100}-----|\Z)",
    re.DOTALL,
)


def redact(text: str, *, reads_like_words: "Callable[[str], bool]") -> str:
    """Replace every token of a known shape."""

    def replacement(found: "re.Match[str]") -> str:
        token = found.group()
        # `sk-` also begins `sk-learn-style-option-names`
        return token if token.startswith("sk-") and reads_like_words(token) else REDACTED

    # compiling all shapes costs 20 ms; a text has the markers of one or two
    patterns = [pattern for marker, pattern in SHAPES if marker in text]
    return re.sub(rf"(?<![A-Za-z0-9])(?:{'|'.join(patterns)})(?![A-Za-z0-9])", replacement, text)


def redact_private_keys(text: str) -> str:
    """Replace what stands between the lines of a PEM or PGP private key, also where its end was cut off."""
    return _PRIVATE_KEY.sub(rf"\1{REDACTED}\2", text) if "PRIVATE KEY" in text else text
