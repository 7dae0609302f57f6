"""Words that worlds and requests are filled with; all of our own."""

from __future__ import annotations

from random import Random

from pytest_bfcl.extensions.lab.auditing.literals import listed
from pytest_bfcl.extensions.training.generating.language import capital, spoken

PEOPLE = listed(
    """
    Ada Amir Anouk Arvid Beatriz Bela Bruno Carmen Cleo Dario Dilan Edda Elif Emeka Enzo Farah Fenna Gia Goran
    Hana Henrik Ines Ivo Jana Joost Kaya Kofi Lale Leif Lotte Malik Marit Mateo Mina Nadia Nils Noor Olga Omar
    Paloma Petra Quentin Rafi Renske Rosa Samir Selma Sven Tariq Thea Tomas Ulla Valeria Viggo Wanda Xenia
    Yusuf Zoltan Aino Boris Chidi Delia Eirik Fatou Gustav Hedda Ismet Jarek Kirsi Luca Maude Nico Odile Pilar
    Raul Sanne Timo Ursula Vera Wim Yara Zeno
    """
)
FAMILIES = listed(
    """
    Adeyemi Bakker Castellan Dufour Eklund Fischer Grigoryan Haddad Ito Jansen Kowalski Lindqvist Moreau Novak
    Okafor Petrov Quist Rossi Santos Takeda Ulrich Vargas Weiss Yilmaz Zeman
    """
)
_HANDLE_A = listed("tidepool northbound clay marsh orbit velvet maple quiet rainy stone tin lantern copper drift fern paper salt "
                   "amber cobble dapple ember frosty gentle hollow")  # fmt: skip
_HANDLE_B = listed("ann joe glaze light kim gears moss harbor rufus fruit band lee kettle dan wise cranes sam otter pilot sparrow "
                   "wren tailor baker")  # fmt: skip
HANDLES = [f"{a}_{b}" for a in _HANDLE_A for b in _HANDLE_B]

TOPICS = {
    "apiary": "hive swarm honey queen frame wax smoker pollen brood nectar drone comb veil",
    "bakery": "rye starter oven flour crust yeast tray proofing dough bagel sieve icing",
    "choir": "choirbook rehearsal score robe concert organ verse hymnal alto tenor descant",
    "observatory": "comet mirror dome eclipse lens spectrum drift meridian nebula tripod",
    "pottery": "glaze kiln clay handle wheel cone slip bisque vase saucer teapot",
    "sailing": "jib harbor mast tide rope keel buoy regatta anchor rudder hull",
    "orchard": "apple graft ladder frost crate blossom pruning cider quince pear",
    "library": "shelf loan atlas binding catalog index folio archive ledger reader",
    "theatre": "prop curtain script spotlight costume backdrop stage poster usher encore",
    "cycling": "chain saddle route puncture pedal climb helmet sprocket bidon",
    "garden": "compost seedling trellis hose mulch tulip hedge shed barrow trowel",
    "clinic": "vaccine chart ward triage dosage referral bandage rota gauze splint",
    "brewery": "malt mash keg barley wort bottle cellar hops funnel",
    "railway": "siding boiler timetable platform coach whistle track sleeper lantern",
    "aquarium": "filter reef salinity plankton seahorse pump algae coral snail",
    "radio": "antenna jingle studio tape host record playlist mixer fader",
    "kitchen": "ladle skillet pantry apron recipe colander spatula broth thyme",
    "workshop": "chisel lathe varnish plank clamp sawdust dowel hinge mallet",
    "museum": "plinth fresco medal guide vitrine mosaic statue label donor",
    "farm": "tractor fence barn calf haystack silo plough harvest gate",
}
"""A theme → words that its files, messages and posts are about."""
_NOUNS = sorted({word for words in TOPICS.values() for word in words.split()})
_LIKE = listed(
    """
    old green spare crooked tiny borrowed blue noisy second-hand rusty painted missing heavy folding wooden damp late
    yellow broken early shiny narrow dusty spotless foreign secret cheap bulky fragile lucky square quiet striped
    warm brittle faded sturdy frozen hollow loose modest polished ragged silver tangled upright woolen thin
    """
)
_DID = listed(
    """
    fixed moved sold painted measured hid carried lost cleaned wrapped weighed counted borrowed brought packed dried
    labelled dropped ordered photographed sketched shortened swapped repaired unpacked stacked traded balanced buried
    """
)
_WHERE = listed(
    """
    Lisbon Antwerp Tampere Zagreb Galway Utrecht Tartu Malmo Bergamo Kaunas Seville Dresden Odense Lucerne Nantes Poznan
    Ghent Trieste Reims Brno Vigo Umea Maribor Pecs Exeter Stavanger Toledo Basel Groningen Coimbra
    """
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WHEN = (*DAYS, "yesterday", "tonight", "tomorrow", "noon", "breakfast", "dusk", "Easter", "midsummer", "winter")

_LINES = (
    "{a} checked on {day}, {n} left", "{day}: {a} and {b} still open", "{n} pieces of {a} ordered",
    "{a} goes to {who}", "ask {who} about the {a}", "{b} next to the {a}, row {n}", "{a} done, {b} pending",
    "new {a} arrives on {day}", "{who} counted {n} for the {b}", "no {a} until {day}", "{a} costs {n} per box",
)  # fmt: skip
_NOTES = (
    "{Like} {a} [for|before|after] {when}: {who} {did} {n}.", "{who} {did} {n} {like} {b}s in {place}.",
    "{when2} {a}, {like2} {b}, {who}!", "{did2} {a} number {n} {did} by {who}.", "{Like} {a}, {like2} {b}.",
    "{place} wants {n} {like} {b}s by {when}.", "{who}: {b} {did}, {a} {did2}.", "{n} {a}s {did}; {who} {did2} {like} ones.",
    "{who} and {who2} {did} {like} {a}s.", "{Like2} {b} near {place}, {when} {a}.",
)  # fmt: skip
_TITLES = (
    "{Like} {a} {did}", "{A} {did} by {who}", "{Like} {b}, {like2} {a}", "{A} {did} before {when}", "{n} {like} {b}s {did}",
    "{A}: {like} {b} {did}", "{place} {a} {did}", "{who} {did} {like} {b}",
)  # fmt: skip
_ASIDES = (
    "{who} {did} {like} {a}s near {place}.", "Since {when} {who}'s {like} {b} [stands|waits|sits] beside {like2} {a}s.",
    "{like} {a}s, {like2} {b}s: {who} {did} {n} before {when}.", "In {place} {who} {did} {n} {like} {b}s.",
    "{when2} brought {n} {like} {a}s from {place}.", "{who} and {who2} {did} {like} {b}s, {n} so far.",
    "My {like} {a} {did2} {who}'s {b} around {when}.", "{place} lost {like} {b}s, {who} {did} {like2} ones.",
    "With {who} {a}s get {did}, {b}s {did2}.", "{who}'s {like} {a}, {did} near {place}, cost {n}0 crowns.",
    "By {when} {who2} had {did} {n} {like2} {a}s.", "{like} {b}s remind {who} of {place}.",
    "Around {when} {like} {a}s from {place} got {did}.",
)  # fmt: skip


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
    return capital(_filled(rng, theme, _NOTES))


def title(rng: Random, theme: str) -> str:
    """A title of a ticket."""
    return _filled(rng, theme, _TITLES)


def aside(rng: Random) -> str:
    """A sentence that asks for nothing."""
    return capital(_filled(rng, None, _ASIDES))


def _filled(rng: Random, theme: str | None, patterns: tuple[str, ...]) -> str:
    nouns = _NOUNS if theme is None else sorted(set(TOPICS[theme].split()))
    (a, b), (like, like2), (did, did2), (who, who2) = (rng.sample(each, 2) for each in (nouns, _LIKE, _DID, PEOPLE))
    when, when2 = rng.sample(_WHEN, 2)
    return spoken(rng, rng.choice(patterns)).format(
        a=a, b=b, A=capital(a), n=rng.randint(3, 980), day=rng.choice(DAYS), who=who, who2=who2, like=like, like2=like2,
        Like=capital(like), Like2=capital(like2), did=did, did2=did2, when=when, when2=capital(when2),
        place=rng.choice(_WHERE),
    )  # fmt: skip
