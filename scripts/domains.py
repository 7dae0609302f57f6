"""Makes the table entry → domain from the fetched official data: ``python scripts/domains.py [--sample]``.

A function belongs to the domain whose words its name, description and parameters hold most; an entry to the domain of
the first function its answer calls, else of those it offers. Words count by where they stand. ``--sample`` prints
entries drawn with a seed, for a second reading; ``READ`` holds what that reading decided otherwise.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.session.evaluation import open_data

TABLE = Path(__file__).resolve().parents[1] / "pytest_bfcl" / "dataset" / "domains.json"
WORDS = {
    "algebra and arithmetic": "factorial gcd lcm hcf prime factor factors root roots quadratic equation equations "
    "multiply add subtract divide sum math algebra fibonacci power logarithm arithmetic polynomial integer hypot "
    "divisor absolute modulo progression sequence mathematics factorize solve number numbers permutation "
    "combination combinations",
    "calculus": "derivative integral integrate calculus differentiate gradient slope curve riemann limit",
    "geometry": "triangle circle area volume circumference geometry polygon sphere radius perimeter angle rectangle "
    "cylinder cone square hypotenuse surface shape euclidean coordinates",
    "statistics and probability": "probability mean median deviation variance regression binomial histogram "
    "distribution statistic statistics correlation chi ttest hypothesis standard sample dice normalvariate entropy "
    "odds random",
    "physics": "velocity acceleration force electric magnetic displacement speed kinematics kinetic energy gravity "
    "electrostatic field resistance wave frequency momentum physics light thermodynamics heat friction pressure "
    "projectile fall circuit voltage current luminosity resonant capacitance potential",
    "astronomy": "space star stars planet planets galaxy orbit astronomy moon nasa celestial light_year astronomical",
    "chemistry": "chemical molecule molecular density boiling melting chemistry ph atom element compound molarity "
    "atomic substance gas reaction",
    "biology and genetics": "dna gene genetics genotype cell protein biology mutation species ecology evolution "
    "allele sequence forest bird animal plant biomass photosynthesis organism growth bacterial snake "
    "cellbio elephant neural brain biodiversity",
    "medicine and health": "bmi health disease diabetes patient medical drug calorie calories heart hospital "
    "vaccine covid mri weight prescription fitness exercise insurance symptom doctor medication death "
    "nutrition workout body mass",
    "earth and environment": "carbon emission earthquake soil water air quality environment pollution climate "
    "rainfall geology mountain mountains lake ocean river green energy solar crop farm irrigation precipitation "
    "tallest greenhouse sunrise sunset geology",
    "weather": "weather forecast temperature humidity wind snow tide",
    "finance and investment": "stock stocks investment interest mortgage loan portfolio dividend share price market "
    "finance financial cagr roi npv valuation equity profit compound compounded savings fund crypto bitcoin trading "
    "account balance option cash corporate company earnings return watchlist broker inflation dcf",
    "money and currency": "currency exchange rate convert dollar",
    "payments and banking": "payment pay bank invoice transaction transactions receiver transfer deposit withdraw "
    "budget tax billing card expense tip mandates mandate upi",
    "shopping": "buy product products price amazon walmart grocery store order cart sephora shopping purchase seller "
    "inventory asin safeway deal discount   items mpn specs wishlist review",
    "food and cooking": "recipe recipes food cooking ingredient ingredients cook vegan meal dish beer nutritional "
    "bake mix drink drinks coffee cha fod  tea latte eat uber burger pizza",
    "restaurants": "restaurant restaurants dining cuisine table reservation seating",
    "flights": "flight flights airline airport oneway roundtrip airlines boarding",
    "hotels and homes": "hotel hotels room stay house houses home homes rent rental apartment property airbnb "
    "hilton booking accommodation lodging rating unit estate realtor",
    "ground travel": "bus buses train trains ride rides taxi car cars drive driving route traffic parking trip "
    "vehicle transit cab rideshare uberride fastest lyft",
    "travel and places": "travel tourist attraction attractions itinerary visit vacation park parks city landmark "
    "destination tour nearby find_attractions monument zoo hotel_travel sightseeing building",
    "maps and geography": "map maps distance location coordinate coordinates address zipcode geo latitude longitude "
    "directions country capital geocode timezone routing locate city region closest shortest place places geolocation",
    "events and tickets": "event events ticket tickets concert concerts festival exhibition theater theatre show",
    "films and television": "movie movies film films media actor director imdb netflix cast subtitle watch tv "
    "trailer anime",
    "music": "music song songs artist album playlist spotify play lyrics melody chord instrument guitar composer "
    "concert scale note flute musical track piano",
    "sports": "sport sports team player players basketball soccer football match score league nba nfl tennis ranking "
    "tournament game season olympic batting cricket golf winner hockey schedule boxing playoff",
    "games": "game games chess poker card cards deck board player zelda dungeon monopoly dice video rpg minecraft "
    "battle blackjack boardgame puzzle",
    "art and culture": "art artwork painting sculpture museum artist paint color exhibition gallery drawing design "
    "palette rgb canvas culture religion religious holiday festival tradition",
    "history and society": "history historical president war king empire treaty century year civil european "
    "discovery scientist inventor crime population census election religion pope biography monarch nobel discoverer "
    "battles founded",
    "law": "law lawsuit lawsuits court legal case attorney lawyer judge criminal contract patent crime civil "
    "statute trademark verdict penalty defense divorce",
    "education and science": "school student course university grade exam homework study teacher academic science "
    "library book books paper publication research author scholarship quiz thesis",
    "language and text": "translate translation text word words sentence grammar language sentiment spell dictionary "
    "urban definition string summarize summary speech personality tokens token similarity paragraph acronym rhyme "
    "classify classifier traits pronounce",
    "calendar and reminders": "calendar alarm alarms reminder reminders schedule meeting date time clock timer "
    "interviewer reschedule interview availability slot day appointment todo task tasks",
    "messages and social media": "email message messages sms send post tweet chat contact contacts mail "
    "notification telegram whatsapp discord social friend comment slack greet spouse hello",
    "news and search": "news headline article articles search google browser web answer trending  query  "
    "wikipedia engine page website url youtube reddit",
    "images, audio and video": "image images photo picture video audio camera generate img  render detect "
    "object voice speech transcribe qr ",
    "smart home and devices": "device light lights thermostat sensor smart lamp speaker bluetooth appliance "
    "battery lock tv door temperature ac telemetry readings headway garden thin ssid wifi",
    "cloud and operations": "aws cloud server servers dashboards dashboard alert alerts project projects "
    "deployment cluster pod pods node kubernetes docker instance adriel acl flowrules "
    "apdex snapshot logs tenant infrastructure sitefinity monitoring shareable apitoken badge "
    "network ip ssh host interface configuration synthetic lexv agent",
    "databases": "sql database databases table record records postgres row db schema redis nosql  mongodb  shard",
    "files and shell": "file files directory cmd folder command execute shell path terminal copy compress zip pdf "
    "csv controller explorer notepad",
    "programming": "code function class method test tests array list sort sorting object string parse json "
    "validate compile module node callback promise async buffer queue thread iterator stream decode encode handler "
    "cache builder token xml http client request requests array regex debug script widget ui dom event element "
    "component instance variable factory layout decoder bytes config parser impl redisson init field fields data "
    "custom default invoke map matrix mat mul resolve generic",
    "business and sales": "customer sales marketing crm lead employee job resume salary hr company product manager "
    "team professional campaign recruit ceo workplace invoice agent support business hire policy",
    "local services": "services service provider providers stylist salon dentist doctor appointment housekeeper "
    "cleaning province therapist therapists mechanic rentals parcel repair architect renovation",
    "people and names": "person people celebrity name age birth zodiac horoscope relationship profile "
    "human family pet dog cat gender networth compatibility",
    "units and conversion": "convert conversion converter unit units celsius fahrenheit kilometers miles ounces",
}
"""Domain → stems and words of it. The first named of equals is taken."""
READ: dict[str, str] = {
    "set_volume": "smart home and devices",
    "calculate_tax": "finance and investment",
    "requests.get": "programming",
    "get_current_weather": "weather",
    "todo": "calendar and reminders",
    "population_projections": "history and society",
    "music_generator.generate_scale_progression": "music",
    **dict.fromkeys(
        ("todo_add", "todo_delete", "todo.add", "todo.update", "get_interviewer_list"), "calendar and reminders"
    ),
    "uber.ride": "ground travel",
    "user_authentication.authenticate": "people and names",
    "euro_history.battle_details": "history and society",
    "euro_history.treaty_info": "history and society",
    "get_event_date": "history and society",
    "get_game_item_stats": "games",
    "askForSSID": "smart home and devices",
    **dict.fromkeys(
        ("detail_project", "detail_experience_and_education", "list_projects", "add_service_config"),
        "cloud and operations",
    ),
    "get_act_details": "law",
    "calculate_emissions": "earth and environment",
    "multiplayer_game_finder": "games",
    "get_genetic_traits": "biology and genetics",
    "user_authentication.login": "people and names",
    "get_headway": "ground travel",
    "get_time_headway": "ground travel",
    "call_uber": "ground travel",
    "historic_leader_search": "history and society",
    "ProductSearch.execute": "shopping",
    "social_media_analytics.most_followed": "messages and social media",
    "transfer_to_human_agent": "business and sales",
    "version_api.VersionApi.get_version": "cloud and operations",
}
"""Functions whose domain a person's reading decided."""
NAME, PARAMETER, TEXT = 5, 1.5, 1
SEED = 45


def words_of(text: str) -> list[str]:
    """The words of a name or sentence, in small letters."""
    return re.findall(r"[a-z]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text).lower())


_OF = defaultdict[str, list[str]](list)
for _domain, _words in WORDS.items():
    for _word in dict.fromkeys(_words.split()):
        _OF[_word].append(_domain)


def domain_of(function: dict[str, object]) -> Counter[str]:
    """Domain → how much speaks for it; a word of many domains counts less."""
    found: Counter[str] = Counter()
    if str(function["name"]) in READ:
        return Counter({READ[str(function["name"])]: 99.0})  # type: ignore[dict-item]
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else {}
    for text, weight in (
        (str(function["name"]), NAME), (" ".join(properties or ()), PARAMETER),
        (str(function.get("description")), TEXT),
    ):  # fmt: skip
        for word in set(words_of(text)):
            for domain in _OF.get(word, ()):
                found[domain] += weight / len(_OF[word])
    return found


def entry_domain(entry: Entry) -> str:
    """The domain of an entry; ``other`` where no word tells."""
    if entry.category in ("simple_java", "simple_javascript"):
        return "programming"
    functions = [dict(each) for each in entry.function]
    answers = entry.possible_answer
    called = next(iter(answers[0])) if isinstance(answers, list) and answers and isinstance(answers[0], dict) else None
    chosen = [each for each in functions if each["name"] == called] or functions
    found: Counter[str] = Counter()
    for function in chosen:
        found += domain_of(function)
    best = max(found.values(), default=0)
    return next((domain for domain in WORDS if found[domain] == best), "other") if best else "other"


def domains() -> dict[str, str]:
    """Id → domain of every single-turn entry that V4 scores."""
    data = open_data("official")
    table = {}
    for category in data.categories():
        if category.startswith(("multi_turn", "memory", "web", "format", "exec", "rest", "sql", "chatable")):
            continue
        for ref in data.index(category):
            table[ref.id] = entry_domain(data.load(ref))
    return table


def packed(table: dict[str, str]) -> dict[str, str]:
    """Domain → its ids, in the order of the data."""
    found = defaultdict[str, list[str]](list)
    for entry_id, domain in table.items():
        found[domain].append(entry_id)
    return {domain: " ".join(found[domain]) for domain in sorted(found)}


if __name__ == "__main__":
    table = domains()
    if "--sample" in sys.argv:
        data = open_data("official")
        for entry_id in random.Random(SEED).sample(sorted(table), 100):
            entry = data.entry(entry_id)
            names = ", ".join(str(each["name"]) for each in entry.function)[:70]
            asked = " ".join(str(each["content"]) for turn in entry.question for each in turn if each["role"] == "user")
            print(f"{entry_id} | {table[entry_id]} | {names} | {asked[:90]!r}")
    else:
        TABLE.write_text(json.dumps(packed(table), indent=1) + "\n", encoding="utf-8")
        for domain, count in Counter(table.values()).most_common():
            print(f"{count:5} {domain}")
