"""TwitterAPI: posts, tags, comments and people to follow."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.moves import domain_of
from pytest_bfcl.extensions.training.generating.words import HANDLES, note, term, topic
from pytest_bfcl.json_types import Parsed

_SECRETS = ("kelp.Forest9", "Mosaic-41", "two!Lanterns", "paper_boat7", "north&south3")


def world(rng: Random) -> Parsed:
    """An account among others with some posts."""
    theme = topic(rng)
    names = rng.sample(HANDLES, 7)
    first = rng.randint(11, 60)
    tweets = {
        str(first + n): {
            "id": first + n, "username": name, "content": note(rng, theme), "tags": [f"#{term(rng, theme)}"], "mentions": [],
        }
        for n, name in enumerate(names[:5])
    }  # fmt: skip
    return {
        "username": names[0], "password": rng.choice(_SECRETS), "authenticated": rng.random() < 0.7, "tweets": tweets,
        "comments": {}, "retweets": {}, "following_list": names[5:6], "tweet_counter": first + 5,
    }  # fmt: skip


def _tweets(feed: Any, rng: Random) -> object:
    others = [number for number, tweet in feed.tweets.items() if tweet["username"] != feed.username]
    return rng.choice(sorted(others)) if others else None


def _authors(feed: Any, rng: Random) -> object:
    return rng.choice(sorted({tweet["username"] for tweet in feed.tweets.values()}))


def _first_id(result: Any) -> object:
    return result[0]["id"] if len(result) == 1 else None


def _number_gone(config: Parsed, given: Any, fails: Any) -> None:
    if fails:
        config["tweets"].pop(str(given["tweet_id"]))


def _mentioning(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    config["tweets"][str(given["tweet_id"])]["mentions"] = ["@harbor_ines"] if holds else []


def _followed(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    config["following_list"] = [each for each in config["following_list"] if each != value] + [value] * holds


def _busy(config: Parsed, given: Any, value: Any) -> None:
    """A number of one account's tweets: as the last ones, or without those that are too many."""
    tweets, name = config["tweets"], given["username"]
    own = [number for number, tweet in tweets.items() if tweet["username"] == name]
    for number in own[int(value) :]:
        tweets.pop(number)
    for _ in range(int(value) - len(own)):
        number = config["tweet_counter"]
        tweets[str(number)] = {"id": number, "username": name, "content": f"Note {number}.", "tags": [], "mentions": []}
        config["tweet_counter"] = number + 1


DOMAIN = domain_of("posts", "TwitterAPI", world, {
    "tweets": _tweets, "authors": _authors, "first_id": _first_id, "gone": _number_gone, "mentioning": _mentioning,
    "set_followed": _followed, "busy": _busy,
    "tags": lambda feed, rng: [f"#{each}" for each in sorted({term(rng, topic(rng)) for _ in range(2)})],
    "handles": lambda feed, rng: [f"@{each}" for each in rng.sample(HANDLES, rng.randint(1, 2))],
    "account": lambda feed, rng: rng.choice([h for h in HANDLES if h not in (feed.username, *feed.following_list)]),
    "followed": lambda feed, rng: rng.choice(feed.following_list) if feed.following_list else None,
    "tagged": lambda feed, rng: rng.choice(sorted(each[1:] for tweet in feed.tweets.values() for each in tweet["tags"])),
})  # fmt: skip
