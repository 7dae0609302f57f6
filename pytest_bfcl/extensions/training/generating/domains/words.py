"""Words that worlds and requests are filled with; all of our own."""

from __future__ import annotations

from random import Random

from pytest_bfcl.extensions.lab.auditing.literals import listed

PEOPLE = listed(
    """
    Ada Amir Anouk Arvid Beatriz Bela Bruno Carmen Cleo Dario Dilan Edda Elif Emeka Enzo Farah Fenna Gia Goran
    Hana Henrik Ines Ivo Jana Joost Kaya Kofi Lale Leif Lotte Malik Marit Mateo Mina Nadia Nils Noor Olga Omar
    Paloma Petra Quentin Rafi Renske Rosa Samir Selma Sven Tariq Thea Tomas Ulla Valeria Viggo Wanda Xenia
    Yusuf Zoltan
    """
)

FAMILIES = listed(
    """
    Adeyemi Bakker Castellan Dufour Eklund Fischer Grigoryan Haddad Ito Jansen Kowalski Lindqvist Moreau Novak
    Okafor Petrov Quist Rossi Santos Takeda Ulrich Vargas Weiss Yilmaz Zeman
    """
)

HANDLES = listed(
    """
    tidepool_ann northbound_joe clayandglaze marshlight orbit_kim slowbread velvet_gears mapleandmoss
    quietharbor rainy_rufus stonefruit_sue tinroofband lanternfish_lee copperkettle driftwood_dan fernwise
    papercranes saltflats_sam
    """
)

TOPICS = {
    "apiary": "hive swarm honey queen frame wax smoker pollen",
    "bakery": "rye starter oven flour crust yeast tray proofing",
    "choir": "choirbook rehearsal score robe concert organ verse hymnal",
    "observatory": "comet mirror dome eclipse lens spectrum drift meridian",
    "pottery": "glaze kiln clay handle wheel cone slip bisque",
    "sailing": "jib harbor mast tide rope keel buoy regatta",
    "orchard": "apple graft ladder frost crate blossom pruning cider",
    "library": "shelf loan atlas binding catalog index folio archive",
    "theatre": "prop curtain script spotlight costume backdrop stage poster",
    "cycling": "chain saddle route puncture pedal climb helmet wheel",
    "garden": "compost seedling trellis hose mulch tulip hedge shed",
    "clinic": "vaccine chart ward triage dosage referral bandage rota",
    "brewery": "malt mash keg barley wort bottle label cellar",
    "railway": "signal siding boiler timetable platform coach whistle track",
    "aquarium": "filter reef salinity plankton tank seahorse pump algae",
    "radio": "antenna jingle studio tape antenna host record playlist",
}
"""A theme → words that its files, messages and posts are about."""

_LINES = (
    "{a} checked on {day}, {n} left", "{day}: {a} and {b} still open", "{n} pieces of {a} ordered",
    "{a} goes to {who}", "ask {who} about the {a}", "{b} next to the {a}, row {n}", "{a} done, {b} pending",
    "new {a} arrives on {day}", "{who} counted {n} for the {b}", "no {a} until {day}", "{a} costs {n} per box",
)  # fmt: skip
_NOTES = (
    "The {a} is ready, please bring the {b} on {day}.", "Can you look after the {a} until {day}?",
    "We need {n} more for the {b}.", "{who} will take over the {a} next week.", "The {b} has moved to {day}.",
    "Thank you for repairing the {a}!", "Please count the {a} again before {day}.", "Bring the {b}, we are out of {a}.",
    "The meeting about the {a} starts at {n} past noon.", "I left the {b} with {who}.",
)  # fmt: skip
_TITLES = (
    "{A} out of order", "Missing {b}", "{A} needs a new {b}", "Wrong label on the {a}", "{A} delivered twice",
    "No access to the {b}", "{A} makes a strange noise", "Order more {a}", "The {b} keeps falling off", "{A} report late",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def topic(rng: Random) -> str:
    """A theme."""
    return rng.choice(list(TOPICS))


def term(rng: Random, theme: str) -> str:
    """A word of a theme."""
    return rng.choice(TOPICS[theme].split())


def line(rng: Random, theme: str) -> str:
    """A line of a file."""
    return _filled(rng, theme, _LINES)


def note(rng: Random, theme: str) -> str:
    """A message or post."""
    return _filled(rng, theme, _NOTES)


def title(rng: Random, theme: str) -> str:
    """A title of a ticket."""
    return _filled(rng, theme, _TITLES)


def _filled(rng: Random, theme: str, patterns: tuple[str, ...]) -> str:
    a, b = rng.sample(sorted(set(TOPICS[theme].split())), 2)
    return rng.choice(patterns).format(
        a=a, b=b, A=a.capitalize(), n=rng.randint(3, 48), day=rng.choice(DAYS), who=rng.choice(PEOPLE)
    )
