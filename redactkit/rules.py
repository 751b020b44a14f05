"""Stage 1B, the direct rules (Redact or Keep, section 3; PAPER.md R4): identifiers that have a form of their own.

E-mail addresses, links, IP addresses, telephone and identifying numbers, and the terms of the user's own lexicon are
decided here and never sent to the reviewer. Nobody takes a rule's hit back, so precision comes first: in a mathematics
lesson most strings of digits are answers, sections, versions or ratios. A form that only a person's data has
(``t.okoye@example.com``) is enough by itself; any other needs words beside it that say what it is ("call me at …",
"my student id is …"). Excluded: names, places, dates and handles, which are learned (stage 1A).
"""

from __future__ import annotations

import ipaddress
import unicodedata
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import regex

from redactkit.tables import REDACT, InputError, make_spans

if TYPE_CHECKING:
    import ahocorasick
    from linkify_it import LinkifyIt
    from phonenumbers import PhoneNumber

Lexicon = list[tuple[str, str]]  # (label, term)
Hit = tuple[int, int, str, str]  # start, end, label, source

_DIGIT_NAMES = "zero|one|two|three|four|five|six|seven|eight|nine"
_MAY_HOLD = regex.compile(rf"[\d@:]|\.\p{{L}}|\bdot\b|[(\[{{<]\s?at\b|\b(?:{_DIGIT_NAMES})\b", regex.I)
_WORD, _WORD_END = r"(?<![\p{L}\p{M}\d_])", r"(?![\p{L}\p{M}\d_])"

# E-mail, as typed and as dictated. Country domains that are English words ("dot in the") are not taken from speech.
_LOCAL_PART = regex.compile(r"(?r)[\p{L}\p{M}\d._%+&'*-]{1,64}")  # read backwards from the @
_HOST_LABEL = r"[\p{L}\d][\p{L}\p{M}\d-]{0,62}"
_DOMAIN = regex.compile(
    rf"{_HOST_LABEL}(?:\.{_HOST_LABEL}){{0,7}}\.\p{{L}}[\p{{L}}\p{{M}}\d-]{{0,22}}[\p{{L}}\p{{M}}\d]"
)
_NEXT_SENTENCE = regex.compile(r"(?<=\.(?:com|org|net|edu|gov))\.\p{Lu}\p{Ll}+$")  # "…@example.com.Thanks"
_SPOKEN_TLD = "com|org|net|edu|gov|mil|info|io|co|uk|ca|au|nz|ie|za|eu|de|fr|nl|se|ch|jp|kr|br|mx|us|app|dev"
_MAIL_HOSTS = "gmail|googlemail|yahoo|hotmail|outlook|live|icloud|aol|proton|protonmail|gmx|example"
_PART = r"[\p{L}\d](?:[\p{L}\d_.+-]{0,62}[\p{L}\d])?"
_SIGN = r"\s{{0,2}}[\[({{<]\s{{0,2}}{0}\s{{0,2}}[\])}}>]\s{{0,2}}"
_AT_SIGN, _DOT_SIGN = _SIGN.format("at"), _SIGN.format("dot")
_DOT = rf"(?:\s{{1,3}}dot\s{{1,3}}|{_DOT_SIGN}|\s\.\s|\.)"
_JOINED = rf"{_PART}(?:(?:\s{{1,3}}(?:dot|underscore|dash|hyphen|plus)\s{{1,3}}|{_DOT_SIGN}){_PART}){{0,4}}"
_DICTATED_MAIL = regex.compile(
    rf"""(?<![\p{{L}}\d_.+-])(?P<local>{_JOINED})
    (?: (?P<sign>{_AT_SIGN})                 (?P<domain>{_PART}(?:{_DOT}{_PART}){{0,3}}{_DOT}\p{{L}}{{2,24}})
      | (?:\s{{1,3}}at\s{{1,3}}|\s{{0,2}}@\s{{0,2}})
                                             (?P<domain>{_PART}(?:{_DOT}{_PART}){{0,3}}{_DOT}(?:{_SPOKEN_TLD}))
    ) (?![\p{{L}}\p{{M}}\d_@])""",
    regex.I | regex.X,
)
_DICTATION = regex.compile(rf"\bdot\b|{_AT_SIGN}|\s@|@\s|\bat\s{{1,3}}(?:{_MAIL_HOSTS})\b", regex.I)
_NO_LOCAL = frozenset(  # "look at example dot com" is nobody's address
    "a an the this that it is was be been am are me us him her them you i we look looks looking see here there find "
    "found go went going get got start started stop begin point reach reached mail email emailed contact message write "
    "site website page online posted available hosted math up down not work works sign login log of and or so".split()
)
_NO_DOMAIN = frozenset("a an the this that each every one my our your his her their which what".split())
_SPELLED_SIGNS = {"dot": ".", "underscore": "_", "dash": "-", "hyphen": "-", "plus": "+"}

# Links. Without a scheme only domains that are neither an ending of a file nor a word after a forgotten blank.
_MAY_HOLD_LINK = regex.compile(r"://|\.\p{L}\p{L}")
_LINK_START = regex.compile(
    r"(?:https?|ftp)(?=://)"
    r"|(?<![\p{L}\p{M}\d@._/\\-])[\p{L}\d][\p{L}\p{M}\d-]*+(?:\.(?!(?:https?|ftp)://)[\p{L}\p{M}\d-]++)++",
    regex.I,
)
_TLD_ALONE = frozenset("com org net edu gov mil info biz io".split())
_TLD_WITH_PATH = _TLD_ALONE | frozenset(
    "app dev page site online xyz tech link live club wiki blog cloud games co tv gg ly ai gl ee uk ca au nz ie de fr "
    "nl eu ch se dk fi pl br mx jp kr cn ru us".split()
)
_SECOND_LEVEL = frozenset("com co ac edu org gov sch k12".split())
_SHORT_HOSTS = frozenset("youtu.be t.me wa.me fb.me m.me discord.gg goo.gl amzn.to kahoot.it instagr.am".split())
_LINK_WINDOW = 2_048  # read at a time, so that unclosed brackets cost no more than their number
_BLANK_OR_END = regex.compile(r"\s|$")

# IP addresses.
_IPV4 = regex.compile(r"(?<![\p{L}\d_.:,])(?<!\d[-/])\d{1,3}(?:\.\d{1,3}){3}(?![\p{L}\d_]|[.,]\d)")
_IPV6 = regex.compile(
    r"(?<![\p{L}\d_:.])(?=[\da-f:.]{2,45}+(?![\p{L}\d_:]))[\da-f]{0,4}(?::[\da-f]{0,4}){2,8}(?:(?:\.\d{1,3}){3})?",
    regex.I,
)
_IP_WORDS = regex.compile(
    rf"{_WORD}(?:ips?|ip[ -]?v?[46]|ip[ -]address(?:es)?|router|server|gateway|ping(?:ed|ing)?|dns|subnet|wi-?fi"
    rf"|firewall|localhost|vpn|proxy|host|network|blocked|banned|whitelist|allowlist){_WORD_END}",
    regex.I,
)
_SECTION_WORDS = regex.compile(
    r"(?:§|\b(?:sect?(?:ions?)?|vers?(?:ions?)?|v|ch(?:apters?|ap)?|fig(?:ures?)?|ex(?:ercises?)?|problems?|questions?"
    r"|theorems?|lemma|lessons?|units?|steps?|releases?|builds?|updates?|macos|ios|android|firmware|pages?|tables?"
    r"|examples?|parts?|items?|rules?|standards?|paragraphs?|outline|book|topics?|modules?)[.:#]?"
    r"(?:\s(?:is|was|no|number|to|from))?)\W{0,3}$",
    regex.I,
)

# An operand: an operator, a variable or a command to calculate stands right beside it.
_ARITHMETIC_BEFORE = regex.compile(
    r"[=+*×÷·^<>≤≥≈−√%]\s*$|(?<![-.]\d{4}\s?)/\s*$|(?<!^|\n)(?<!\p{L}\s?)[-–]\s*$|(?<![\p{L}\d'’])[b-hj-z]\s*\(?\s*$"
    r"|\b(?:plus|minus|times|equals?|evaluate|compute|calculate|simplify|solve|subtract|add|multiply|divide"
    r"|difference of|what(?: i|'|’)?s)\s*$",
    regex.I,
)
_ARITHMETIC_AFTER = regex.compile(
    r"^\s*(?:[=+*×÷·^<>≤≥≈−%]|[-–]\s*[\d(]|/\s*[\d(](?!\d\d[-.]\d)|(?:plus|minus|times|equals|divided)\b|x\s+\d|[b-hj-z]\b\s*[=+*<>-])",
    regex.I,
)

# Telephone numbers: the form, then the words beside it.
_S = r"[ \t\u00a0\u202f.\-\u2010-\u2015]"
_PHONE = regex.compile(
    rf"""(?<!\d)(?<!\d[.,:\-\u2010-\u2015])(?<!(?<![-.]\d{{3}})\d/)(?<!\p{{L}}\d{{0,3}}-)
    (?: (?P<abroad>\+\d(?:[ \u00a0.()\u2010-\u2015-]{{0,2}}\d){{7,15}})
      | (?P<whole>(?:1{_S}?)?(?:\(\d{{3}}\){_S}{{0,2}}\d{{3}}{_S}?\d{{4}}|\d{{3}}[./\-\u2010-\u2015]\d{{3}}{_S}\d{{4}}))
          (?:,?\s?(?:ext\.?|extension)\s?\d{{1,5}}|\s?x\d{{1,5}})?
      | (?P<spaced>(?<!\d\s)(?:1[ \u00a0])?\d{{3}}[ \u00a0\u202f]\d{{3}}[ \u00a0\u202f-]\d{{4}}(?!\s\d))
      | (?P<trunk>(?<!\d\s)(?:\(0\d{{1,4}}\)|0\d{{1,4}})(?:[ \u00a0-]?\d{{2,4}}){{2,4}}(?!\s\d))
      | (?P<local>(?<!\d\s)\d{{3}}{_S}\d{{4}}(?!\s\d))
      | (?P<other>\d{{2,5}}(?:{_S}\d{{2,7}}){{1,5}}|\(\d{{2,5}}\)(?:{_S}?\d{{2,5}}){{1,4}})
      | (?P<bare>\d{{7,15}})
    )(?!\d|[.,:\-\u2010-\u2015]\d|/\d(?!\d\d[-.]\d{{3}}[-.]))""",
    regex.X | regex.I,
)
_PHONE_WORD = r"(?:phones?|cell ?phones?|cell|mobile|tel(?:ephone)?|whats ?app|landline|voicemail|sms|fax|hotline)"
_CALL_WORD = (
    r"(?<!(?:we|let['’]?s|us|the|this|word)\s)(?:call|text|dial|ring|reach|contact|msg)(?:ed|ing)?(?:me)?"
    r"(?!\s(?:it|this|that|these|those|each|both|out|[b-hj-z]\b|the\s(?:sum|difference|product|number|total|answer)))"
)
_KIN = r"mom|mum|dad|mother|father|sister|brother|parent|friend"
_OWN_NUMBER = rf"(?:my|his|her|their|our|your|home|(?:{_KIN})['’]?s)\s(?:[\p{{L}}'’]+\s)?(?:number|num|digits)"
_FILLER = (
    r"(?:\W{1,3}(?:me|us|him|her|them|back|up|you|i|number|num|no|nr|is|was|at|on|it|its|it['’]s|thats|that['’]s|then|so"
    r"|the|my|your|his|mom|mum|dad|parents|house|home|office|anytime|later|please|tonight|tomorrow|after|class)){0,6}"
)
_PHONE_NEAR = regex.compile(rf"{_WORD}(?:{_PHONE_WORD}|{_CALL_WORD}){_WORD_END}", regex.I)
_PHONE_TIGHT = regex.compile(rf"{_WORD}(?:{_PHONE_WORD}|{_CALL_WORD}){_FILLER}\W{{0,4}}$", regex.I)
_OWN_TIGHT = regex.compile(rf"{_WORD}{_OWN_NUMBER}{_FILLER}\W{{0,4}}$", regex.I)
_PHONE_AFTER = regex.compile(
    rf"^\s{{0,2}}(?:[(\[]\s?(?:home|cell|mobile|work|office|mom|mum|dad|[hcmw])\s?[)\]]|,?\s?(?:is|was|['’]s|that['’]?s)\s"
    rf"(?:my|his|her|their|our|the|(?:{_KIN})['’]?s)\s(?:\p{{L}}+\s)?(?:{_PHONE_WORD}|number){_WORD_END})",
    regex.I,
)
_LABELLED = regex.compile(rf"{_WORD}{_PHONE_WORD}(?:\s(?:number|num|no\.?|#))?\s?[=:–-]\s?$", regex.I)
_ABOUT_NUMBERS = regex.compile(
    r"\b(?:digits?|divi\w+|round\w*|place value|prime|order\w*|greatest|least|larg\w+|small\w+|factors?|multipl\w+|even"
    r"|odd|sum|add\w*|subtract\w*|minus|plus|times|equation|solve|ascending|descending|decimal|fraction|guess|millions?"
    r"|thousands?|hundreds?)\b",
    regex.I,
)
_DIGIT_WORDS = {name: str(digit) for digit, name in enumerate(_DIGIT_NAMES.split("|"))} | {"oh": "0", "o": "0"}
_DIGIT_WORD = rf"(?:(?:double|triple)\s)?(?:{_DIGIT_NAMES}|oh|o)\b"
_DICTATED_PHONE = regex.compile(rf"{_WORD}{_DIGIT_WORD}(?:[\s,.\-–]{{1,3}}{_DIGIT_WORD}){{5,14}}+{_WORD_END}", regex.I)
_NANP = regex.compile(r"1?[2-9]\d\d[2-9]\d{6}")  # North America: area and exchange begin with 2-9
_ROUND = regex.compile(r"\d\d0\D{1,3}\d\d0\D{1,3}\d{3}0")  # 900-200-1000 is a subtraction
_FICTIONAL = regex.compile(r"1?[2-9]\d\d55501\d\d")  # numbers reserved for fiction
_LEAD, _TRAIL = 60, 45  # how far, in characters, words beside a number can speak for it

# Identifying numbers: the words that introduce one, then its value.
_ID_OWNER = (
    r"student|school|pupil|learner|employee|staff|member(?:ship)?|user|customer|client|patient|accounts?|acct|meeting|zoom|webinar"
    r"|conference|class(?:room)?|lunch|library|badge|case|candidate|enrol?lment|registration|national|state|tax(?:payer)?|voter|insurance"
    r"|policy|medical\srecord|driver['’]?s?|licen[cs]e|passport|credit|debit|bank|routing|social\ssecurity|roll|confirmation|tracking"
)
_ID_NUMBER = r"(?:id|i\.d\.|numbers?|num|nr|no|\#)(?:\s?(?:number|num|no\b|nr|code|\#))?"
_ID_LINK = r"(?:\s|[:=\#?.–'’-](?!\d\.)|\b(?:is|was|are|it['’]?s|(?<=\w['’])s|just|please|ending\sin|ends\sin)\b){1,9}"
_CURRICULAR = r"problem|question|item|exercise|lesson|skill|task|video|assignment|worksheet|standard|quiz"
_INTRODUCED = regex.compile(
    rf"""{_WORD}(?<!(?:{_CURRICULAR})\s)(?:
        (?:{_ID_OWNER})\s(?:card\s|identification\s|plate\s)?{_ID_NUMBER}
      | (?:my|your|his|her|their|our)\s(?:id|pin)(?:\s(?:number|card|code))?
      | (?:id|pin)(?:\s(?:number|code))?(?=\s(?:is|was)\s|\s?[:\#]) | (?-i:ID)
      | acct | driver['’]?s?\slicen[cs]e | ssn | social\ssecurity | my\ssocial | passport | licen[cs]e\splate
      | (?P<secret>pass\s?codes?|passwords?|pwd?)
      | (?:access|join|class|invite|entry|login|lunch|door|meeting|zoom)\s(?:code|pin)
    )(?:\s(?:number|no|card))?{_ID_LINK}
    (?P<value>\d{{3}}[ -]\d{{2}}[ -]\d{{4}} | \d{{3,5}}(?:[ \u00a0]\d{{3,5}}){{1,4}} | (?-i:[A-Z]{{1,2}})\s\d{{6,9}}
      | [\p{{L}}\d]{{1,30}}(?:[-/][\p{{L}}\d]{{1,30}}){{0,5}})(?![\p{{L}}\d_@%]|[.,:/]\d|\s?[%°]|-)""",
    regex.X | regex.I,
)
_INTRODUCED_AFTER = regex.compile(
    rf"(?<![\p{{L}}\d.,-])(?P<value>[\p{{L}}]{{0,3}}\d[\p{{L}}\d-]{{3,24}})\s(?:is|was)\s(?:my|his|her|their|the)\s"
    rf"(?:(?:{_ID_OWNER})\s{_ID_NUMBER}|ssn|passcode|pin|id){_WORD_END}",
    regex.I,
)
_MAY_HOLD_ID = regex.compile(r"\d(?:[\p{L} /\-–]{0,4}\d){2}|\b(?:pass ?(?:code|word)|pwd?\b)", regex.I)
_COUNTED = regex.compile(r"\d+-(?:digits?|letters?|characters?|numbers?|step|part|point|year|day|hour|minute)", regex.I)
_SSN = regex.compile(r"(?<![\p{L}\d.,/+-])(?!000|666|9)\d{3}[-–](?!00)\d{2}[-–](?!0000)\d{4}(?![\p{L}\d]|[-.,/]\d)")
_CARD = regex.compile(
    r"(?<![\p{L}\d.,/+-])(?<!\d[ -])(?:[3-6]\d{3}(?P<s>[ -])\d{4}(?P=s)\d{4}(?P=s)\d{4}|(?P<bare>\d{12,19}))"
    r"(?![\p{L}\d]|[ ./,-]\d)"
)
_CARD_WORDS = regex.compile(
    r"\b(?:card|cc|visa|mastercard|amex)\b[\s?:.#]{0,3}(?:(?:number|no|is)\b[\s:.#]{0,3}){0,2}$", regex.I
)
_IBAN = regex.compile(r"(?<![\p{L}\d])[A-Z]{2}\d{2}(?:[ ]?[A-Z\d]{4}){2,7}(?:[ ]?[A-Z\d]{1,3})?(?![\p{L}\d])")

# Letters that Unicode does not take apart, and signs that are typed in more than one way.
_ALIKE = str.maketrans(
    dict(zip("łøđħıŧ", "lodhit"))
    | {"æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
    | dict.fromkeys("’‘ʼʻ`´＇", "'")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("‐‑‒–—−", "-")
)
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_WORD_SIGN = regex.compile(r"[\p{L}\p{M}\p{N}]")
_ACCENT = regex.compile(  # marks that ride on a letter, and signs without width; Indic and Thai vowel signs stay
    r"[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
    r"\ufe00-\ufe0f\p{Cf}]"
)
_LABEL = regex.compile(r"[\p{L}\d_]+")
_PLAIN = regex.compile(r"(?!.*  )[\x20-\x5f\x61-\x7e]*")  # ASCII with single blanks and without `: folds one to one


def find(turns: pd.DataFrame, lexicon: Lexicon | None = None, region: str = "US") -> pd.DataFrame:
    """Every direct identifier in `turns`, as REDACT spans that bypass the reviewer.

    Parameters
    ----------
    turns : the contract's turns; dialogues stand together, in order (a question speaks for the short answer after it).
    lexicon : (label, term) pairs, as from `read_lexicon`; case, accents and spacing of a term do not matter.
    region : two-letter country whose national telephone numbers are read without a country code.

    Returns
    -------
    spans with source "rule:<label>" ("rule:lexicon" for terms), score and p_redact 1.0, route "auto", reason "rule";
    no two overlap: of hits that do, the longest gives the label and the span covers them all.

    Raises
    ------
    InputError : an unknown region, or a lexicon entry that could never match.
    """
    _check_region(region)
    terms = _automaton(lexicon) if lexicon else None
    rows, previous, asked = [], None, ""
    for dialogue, turn, text in zip(turns["dialogue_id"], turns["turn_id"], turns["text"]):
        hits = list(_lexicon_hits(text, terms)) if terms else []
        if _MAY_HOLD.search(text):
            hits += _rule_hits(text, asked if dialogue == previous and _is_short(text) else "", region)
        for start, end, label, source in _merge(_uncut(text, hits)):
            at = {"dialogue_id": dialogue, "turn_id": turn, "start": start, "end": end, "surface": text[start:end]}
            rows.append(at | {"label": label, "source": source})
        previous, asked = dialogue, text[-100:] + "\n"
    return make_spans(rows, score=1.0, decision=REDACT, p_redact=1.0, route="auto", reason="rule")


def read_lexicon(path: str | Path) -> Lexicon:
    """Read (label, term) pairs: UTF-8, one ``type<TAB>term`` a line; blank lines and lines starting with # are skipped.

    Raises
    ------
    InputError : the file is missing or not UTF-8, or a line has no tab, no term, or a type that is not one word.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file. Give a text file with one type<TAB>term a line.")
    pairs = []
    for number, raw in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        where = f"{path}, line {number}"
        try:
            line = raw.decode("utf-8").strip("\r")
        except UnicodeDecodeError:
            raise InputError(f"{where}: not UTF-8. Save the file with the encoding UTF-8.") from None
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        label, tab, term = line.partition("\t")
        if not tab:
            raise InputError(f"{where}: no tab. Write the type, a tab, the term, for example School<TAB>Hill Primary.")
        pairs.append(_checked_term(label.strip(), term.strip(), where))
    return pairs


def _rule_hits(text: str, asked: str, region: str) -> list[Hit]:
    found = {
        "Email": _emails(text),
        "URL": _links(text),
        "IP_Address": _ip_addresses(text),
        "Identifying_Number": _identifying_numbers(text, asked),
        "Phone_Number": _phones(text, asked, region),
    }
    return [(start, end, label, f"rule:{label}") for label, hits in found.items() for start, end in hits]


def _merge(hits: list[Hit]) -> list[Hit]:
    """One hit for each group of overlapping ones: the extent of all, the label of the longest (the first on a tie)."""
    merged: list[tuple[Hit, int]] = []  # with the length of the hit that gave the label
    for hit in sorted(hits, key=lambda h: (h[0], h[0] - h[1])):
        start, end, length = hit[0], hit[1], hit[1] - hit[0]
        if not merged or start >= merged[-1][0][1]:
            merged.append((hit, length))
            continue
        last, longest = merged[-1]
        label = hit[2:] if length > longest else last[2:]
        merged[-1] = ((last[0], max(last[1], end), *label), max(longest, length))
    return [hit for hit, _ in merged]


def _uncut(text: str, hits: list[Hit]) -> list[Hit]:
    """Hits widened to whole characters as a reader sees them: `tables.whole_characters`, in one pass for them all."""
    if not hits or (text.isascii() and "\r" not in text):
        return hits
    edges = [cluster.start() for cluster in regex.finditer(r"\X", text)] + [len(text)]
    return [
        (edges[bisect_right(edges, s) - 1], edges[bisect_left(edges, e)], label, source) for s, e, label, source in hits
    ]


def _is_short(text: str) -> bool:
    """Whether the turn can be the bare answer to a question ("its 4031187")."""
    return len(text) <= 60 and len(regex.findall(r"\p{L}+", text)) <= 4


def _beside(text: str, start: int, end: int, asked: str = "") -> tuple[str, str]:
    return asked + text[max(0, start - _LEAD) : start], text[end : end + _TRAIL]


def _in_arithmetic(lead: str, trail: str) -> bool:
    return bool(_ARITHMETIC_BEFORE.search(lead) or _ARITHMETIC_AFTER.search(trail))


# --- e-mail ---------------------------------------------------------------------------------------------------------


def _emails(text: str) -> list[tuple[int, int]]:
    hits = []
    for sign in regex.finditer("@", text):
        local = _LOCAL_PART.match(text, max(0, sign.start() - 64), sign.start())
        domain = local and _DOMAIN.match(text, sign.end())
        if not local or not domain:
            continue
        start = local.end() - len(local.group().lstrip(".%+&'*-"))
        end = sign.end() + len(_NEXT_SENTENCE.sub("", domain.group()))
        if _is_email(text[start : sign.start()], text[sign.end() : end]):
            hits.append((start, end))
    if _DICTATION.search(text):
        hits += [m.span() for m in _DICTATED_MAIL.finditer(text) if _is_dictated_mail(m)]
    return hits


def _is_email(local: str, domain: str) -> bool:
    from email_validator import SPECIAL_USE_DOMAIN_NAMES, EmailNotValidError, validate_email

    if domain.rpartition(".")[2].lower() in SPECIAL_USE_DOMAIN_NAMES:  # kid@school.local: undeliverable, still a person
        domain = "example.com"
    try:
        validate_email(f"{local}@{domain}", check_deliverability=False)
    except EmailNotValidError:
        return False
    return True


def _is_dictated_mail(match: regex.Match) -> bool:
    local, domain = (regex.split(r"[\s\[\](){}<>]+", match[part].strip()) for part in ("local", "domain"))
    first, spoken = domain[0].lower().partition(".")[0], " ".join(match.group().split())
    if first in _NO_DOMAIN or not regex.search(r"\p{L}", match["local"]) or regex.fullmatch(r"\S+@\S+", spoken):
        return False
    if not match["sign"] and len(local) == 1 and not regex.search(r"[\d_.]", local[0]):
        said = "." not in match["domain"] or "@" in spoken
        if local[0].lower() in _NO_LOCAL or not (said or first in _MAIL_HOSTS.split("|")):
            return False
    written = ("".join(_SPELLED_SIGNS.get(word.lower(), word) for word in part) for part in (local, domain))
    return _is_email(*written)


# --- links ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _linkifier() -> LinkifyIt:
    from linkify_it import LinkifyIt

    return LinkifyIt()


def _links(text: str) -> list[tuple[int, int]]:
    hits: list[tuple[int, int]] = []
    if not _MAY_HOLD_LINK.search(text):
        return hits
    for match in _LINK_START.finditer(text):
        start, end = match.span()
        if hits and start < hits[-1][1]:
            continue
        head = match.group() + ":" if text.startswith("://", end) else ""
        length = _link_length(match.group(), head, text[start + len(head) : start + len(head) + _LINK_WINDOW])
        end = start + len(head) + length if length else start
        if length > _LINK_WINDOW - 8:  # longer than the window: to the next blank
            end = next(_BLANK_OR_END.finditer(text, end)).start()
        if end > start:
            hits.append((start, end))
    return hits


def _link_length(name: str, scheme: str, rest: str) -> int:
    """How many characters of `rest` (what follows "http:", or begins with the host `name`) are a link; 0 if none."""
    if scheme:
        return _linkifier().test_schema_at(rest, "http:", 0)
    labels = name.lower().split(".")
    if len(labels) > 10 or not (labels[-1].isalpha() or labels[-1].startswith("xn--")):
        return 0
    if labels[-1] not in _TLD_WITH_PATH and len(labels) < 3 and name.lower() not in _SHORT_HOSTS:
        return 0
    length = _linkifier().test_schema_at("//" + rest.split(maxsplit=1)[0], "http:", 0) - 2
    return length if length >= len(name) and _is_host(name, labels, rest[len(name) : length]) else 0


def _is_host(host: str, labels: list[str], path: str) -> bool:
    deep = len(path) > 1 and path[0] in "/?#:"
    name, top = labels[-2:]
    if host.lower() in _SHORT_HOSTS:
        return deep
    if labels[0] == "www":
        return len(labels) > 2
    next_sentence = not deep and host[-len(top)].isupper() and not host.isupper()  # "the total.Net pay"
    if name.isdigit() or next_sentence:  # "5.com"
        return False
    if top in _TLD_ALONE:
        return deep or len(name) > 1
    if len(labels) > 2 and name in _SECOND_LEVEL and len(top) == 2:
        return True
    return deep and (top in _TLD_WITH_PATH or bool(len(labels) > 2 and regex.search(r"[/?=]", path[1:])))


# --- IP addresses ---------------------------------------------------------------------------------------------------


def _ip_addresses(text: str) -> list[tuple[int, int]]:
    hits = []
    if text.count(".") >= 3:
        hits += [m.span() for m in _IPV4.finditer(text) if _is_ipv4(text, *m.span())]
    if text.count(":") >= 2:
        for match in _IPV6.finditer(text):
            value = match.group() if match.group().endswith("::") else match.group().rstrip(":")
            end = match.start() + len(value)
            if _is_ipv6(value, *_beside(text, match.start(), end)):
                hits.append((match.start(), end))
    return hits


def _is_ipv4(text: str, start: int, end: int) -> bool:
    """A valid address that words call one, or that is private or large-numbered as no section or version is."""
    lead, trail = _beside(text, start, end)
    address = _ip(text[start:end])
    if address is None or _SECTION_WORDS.search(lead):
        return False
    if _IP_WORDS.search(lead) or _IP_WORDS.search(trail[:20]):
        return True
    octets = address.packed
    large = sum(octet >= 100 for octet in octets) >= 2
    home = octets[:2] == bytes([192, 168]) or octets == bytes([127, 0, 0, 1])
    return (large or home) and not _in_arithmetic(lead, regex.sub(r"^/\d{1,2}\b", "", trail))


def _is_ipv6(value: str, lead: str, trail: str) -> bool:
    """Valid, and unlike a ratio (2:3::4:6): letters among the digits in three groups, or words that say so."""
    if _ip(value) is None:
        return False
    groups = [group for group in value.split(":") if group]
    if _IP_WORDS.search(lead) or _IP_WORDS.search(trail[:20]):
        return len(groups) > 1
    mixed = regex.search(r"[a-f]", value, regex.I) and regex.search(r"\d", value)
    return bool(mixed) and (value.lower().startswith("fe80:") or (len(groups) > 2 and max(map(len, groups)) > 2))


def _ip(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None


# --- telephone numbers ----------------------------------------------------------------------------------------------


def _phones(text: str, asked: str, region: str) -> list[tuple[int, int]]:
    asked = asked if _PHONE_NEAR.search(asked) else ""
    hits = []
    for match in _PHONE.finditer(text):
        start, end = _abroad_span(match, region) if match["abroad"] else match.span()
        lead, trail = _beside(text, start, end, asked)
        if start < end and _is_phone(str(match.lastgroup), text[start:end], lead, trail, region):
            hits.append((start, end))
    for match in _DICTATED_PHONE.finditer(text):
        lead, trail = _beside(text, match.start(), match.end(), asked)
        called = _PHONE_NEAR.search(lead) or _OWN_TIGHT.search(lead) or _PHONE_AFTER.search(trail)
        if called and _is_dialled(match.group()):
            hits.append(match.span())
    return hits


def _is_phone(form: str, number: str, lead: str, trail: str, region: str) -> bool:
    """Whether the form is enough, or the words beside the number call it a telephone number."""
    if _in_arithmetic(lead, trail) and not _LABELLED.search(lead):
        return False
    digits = "".join(str(unicodedata.decimal(c)) for c in number if c.isdecimal())
    own = _OWN_TIGHT.search(lead) and not _ABOUT_NUMBERS.search(lead + trail)
    tight = bool(_PHONE_TIGHT.search(lead) or own)
    near = tight or bool(_PHONE_NEAR.search(lead) or _PHONE_AFTER.search(trail))
    if form == "abroad":
        return len(digits) >= 10 or _is_valid(number, region)
    if form == "whole":
        return near or (not _ROUND.search(number) and (bool(_NANP.fullmatch(digits)) or _is_valid(number, region)))
    if form == "spaced":
        return tight or bool(_FICTIONAL.fullmatch(digits)) or _is_valid(number, region)
    if form == "trunk":  # nobody writes an answer with a leading zero and nine more digits
        return (tight and len(digits) > 6) or (len(digits) > 9 and _is_possible(number, region))
    if form == "local":
        return tight or (near and not _ABOUT_NUMBERS.search(lead + trail))
    return tight and 7 <= len(digits) <= 15


def _is_valid(number: str, region: str) -> bool:
    import phonenumbers

    parsed = _parsed_phone(number, region)
    return parsed is not None and phonenumbers.is_valid_number(parsed)


def _is_possible(number: str, region: str) -> bool:
    import phonenumbers

    parsed = _parsed_phone(number, region)
    return parsed is not None and phonenumbers.is_possible_number(parsed)


def _parsed_phone(number: str, region: str) -> PhoneNumber | None:
    import phonenumbers

    try:
        return phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return None


def _abroad_span(match: regex.Match, region: str) -> tuple[int, int]:
    """The part of a "+…" match that phonenumbers holds possible; an empty span if none."""
    from phonenumbers import Leniency, PhoneNumberMatcher

    chunk = match.string[match.start() : match.end() + 10]  # with room for an extension
    found = next(iter(PhoneNumberMatcher(chunk, region, leniency=Leniency.POSSIBLE, max_tries=4)), None)
    return (match.start() + found.start, match.start() + found.end) if found else (match.start(), match.start())


def _is_dialled(words: str) -> bool:
    """Whether digit words make seven, ten or eleven digits and are not just counting ("one two three …")."""
    digits, repeat = "", 1
    for word in regex.findall(r"\p{L}+", words.lower()):
        repeat = {"double": 2, "triple": 3}.get(word, repeat)
        if word in _DIGIT_WORDS:
            digits, repeat = digits + _DIGIT_WORDS[word] * repeat, 1
    steps = {int(b) - int(a) for a, b in pairwise(digits)}
    return len(digits) in (7, 10, 11) and len(steps) > 1


# --- identifying numbers --------------------------------------------------------------------------------------------


def _identifying_numbers(text: str, asked: str) -> list[tuple[int, int]]:
    if not _MAY_HOLD_ID.search(text):
        return []
    hits = [m.span("value") for m in _INTRODUCED_AFTER.finditer(text) if _is_id(m["value"], False)]
    joined, shift = asked + text, len(asked)
    for match in _INTRODUCED.finditer(joined):
        if match.start("value") >= shift and _is_id(match["value"], bool(match["secret"])):
            hits.append((match.start("value") - shift, match.end("value") - shift))
    for match in _SSN.finditer(text):
        zero_led = any(part.startswith("0") for part in regex.split("[-–]", match.group()))
        if zero_led and not _in_arithmetic(*_beside(text, *match.span())):  # 100-20-3000 is a subtraction
            hits.append(match.span())
    for match in _CARD.finditer(text):
        called = not match["bare"] or _CARD_WORDS.search(text, max(0, match.start() - _LEAD), match.start())
        if called and _passes_luhn(match.group()):
            hits.append(match.span())
    hits += [m.span() for m in _IBAN.finditer(text) if _passes_mod97(m.group())]
    return hits


def _is_id(value: str, secret: bool) -> bool:
    digits = sum(c.isdecimal() for c in value)
    if _COUNTED.fullmatch(value):
        return False
    if secret and len(value) >= 6 and digits and value.isalnum() and not value.isdecimal():
        return True
    return digits >= 3 and len(value) >= 4


def _passes_luhn(card: str) -> bool:
    digits = [int(c) for c in reversed(card) if c.isdecimal()]
    return sum(digits[::2]) % 10 == -sum(sum(divmod(2 * d, 10)) for d in digits[1::2]) % 10


def _passes_mod97(iban: str) -> bool:
    compact = iban.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1


# --- the user's lexicon ---------------------------------------------------------------------------------------------


def _checked_term(label: str, term: str, where: str) -> tuple[str, str]:
    if not _LABEL.fullmatch(label):
        raise InputError(
            f"{where}: the type {label!r} is not one word. Use letters, digits and _, such as Tutor_Provider."
        )
    if not _fold(term)[0].strip():
        raise InputError(f"{where}: the term is empty. Write the words to redact after the tab, or delete the line.")
    return label, term


def _automaton(lexicon: Lexicon) -> ahocorasick.Automaton:
    import ahocorasick

    terms = ahocorasick.Automaton()
    for number, (label, term) in enumerate(lexicon, 1):
        _checked_term(label, term, f"lexicon, entry {number}")
        folded = _fold(term)[0].strip()
        if folded not in terms:
            terms.add_word(folded, (label, len(folded)))
    terms.make_automaton()
    return terms


def _lexicon_hits(text: str, terms: ahocorasick.Automaton) -> list[Hit]:
    folded, origin = _fold(text)
    hits: list[Hit] = []
    inside = -1  # a place known to lie inside a word, where many terms may end
    for last, (label, length) in terms.iter(folded):
        if last == inside:
            continue
        if not _is_edge(folded, origin, last + 1):
            inside = last
        elif _is_edge(folded, origin, last + 1 - length):
            hits.append((origin[last + 1 - length], origin[last] + 1, label, "rule:lexicon"))
    return hits


def _is_edge(folded: str, origin: list[int] | range, at: int) -> bool:
    """Whether a term may begin or end before `folded[at]`: not inside a word, nor inside a letter that folds to two."""
    if at in (0, len(folded)):
        return True
    if origin[at - 1] == origin[at]:
        return False
    sides = (folded[at - 1], folded[at])
    return not all(map(_WORD_SIGN.match, sides)) or any(map(_UNSPACED.match, sides))


def _fold(text: str) -> tuple[str, list[int] | range]:
    """`text` without case, accents, invisible signs and runs of blanks, and the place each character came from."""
    if _PLAIN.fullmatch(text):
        return text.lower(), range(len(text))
    signs: list[str] = []
    origin: list[int] = []
    known: dict[str, str] = {}
    for place, char in enumerate(text):
        if char not in known:
            known[char] = _fold_char(char)
        for sign in known[char]:
            if sign != " " or not signs or signs[-1] != " ":
                signs.append(sign)
                origin.append(place)
    return "".join(signs), origin


def _fold_char(char: str) -> str:
    if char.isspace():
        return " "
    number = unicodedata.category(char) == "No"  # x² is not x2
    parts = char if number else unicodedata.normalize("NFKD", char).casefold()
    return "".join(c for c in parts if not _ACCENT.match(c)).translate(_ALIKE)


def _check_region(region: str) -> None:
    from phonenumbers import SUPPORTED_REGIONS

    if region not in SUPPORTED_REGIONS:
        raise InputError(
            f"region {region!r} is not known. Give a country as two capital letters, such as US, GB or IN."
        )
