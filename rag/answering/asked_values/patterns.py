"""Patterns of numbers, days and units, which several kinds of values share."""

from __future__ import annotations

NUMBER_WORDS = (
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
    r"|hundred|thousand|half|quarter|third|once|twice|no|none|daily|weekly|monthly|yearly|annually"
    r"|(?:drei|vier|fünf|sech|sieb|acht|neun)zehn|dreißig|vierzig|fünfzig|trece|catorce|dieciséis"
    r"|diecisiete|dieciocho|diecinueve|treinta|cuarenta|onze|douze|treize|quatorze|quinze|vingt"
    r"|trente|eine?[mnrs]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf"
    r"|zwölf|zwanzig|halbe?[nrs]?|uno|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce"
    r"|quince|veinte|un|une|deux|trois|quatre|cinq|sept|huit|neuf|dix"
)
WEEKDAYS = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?"
    r"|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|lunes|martes|miércoles|jueves|viernes"
    r"|sábados?|domingos?|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
)
MONTHS = (
    r"january|february|march|april|may|june|july|august|september|october|november|december"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember|enero|febrero|marzo|abril|mayo|junio"
    r"|julio|agosto|septiembre|octubre|noviembre|diciembre"
)
DAYS = (
    rf"{WEEKDAYS}|{MONTHS}|spring|summer|autumn|winter|morning|noon|afternoon|evening|midnight|christmas|easter|today|tomorrow|immediately"
    r"|always|never|year|month|week|day|before|after|until|once|when|while|during|by|as soon as"
    r"|sobald|wenn|nach|vor|bis|während|cuando|antes|después|hasta|durante"
)
ANY_NUMBER = rf"(?:[\d零一二两三四五六七八九十百千半½¼¾]|\b(?:{NUMBER_WORDS})\b)"
FREE = (
    r"\b(?:free|no (?:charge|fee|cost|refund|deposit|money)|included|half (?:the )?price"
    r"|at no cost|kostenlos|kostenfrei|gratis|inklusive|inbegriffen|gratuite?|freien?)\b|免费"
)
TIME = r"(?:[01]?\d|2[0-4])[.:][0-5]\d"
UNIT = (
    r"[%€$£¥元]|(?:per ?cent|prozent|por ciento|euros?|eur|usd|gbp|chf|dollars?|pounds?|cents?"
    r"|pence|francs?|franken|seconds?|minutes?|mins?|hours?|days?|nights?|weeks?|months?|years?|old"
    r"|sekunden?|minuten?|stunden?|tage?[ns]?|nächten?|nacht|wochen?|monat(?:en?|s)?|jahre?[ns]?"
    r"|uhr|segundos?|minutos?|horas?|días?|noches?|semanas?|mes|meses|años?|secondes?|heures?"
    r"|jours?|nuits?|semaines?|mois|ans?|h|[ap]\.?m|o['’]clock)\b"
)
"""What is behind a figure of time, age or money, or a share."""
