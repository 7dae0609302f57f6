"""TwitterAPI: posts, tags, comments and people to follow."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.training.generating.domains.words import HANDLES, note, term, topic
from pytest_bfcl.extensions.training.generating.moves import Domain, Gift, Kind, Measure, Move, State
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
    """So many tweets of somebody: as the last ones, or without those that are too many."""
    tweets, name = config["tweets"], given["username"]
    own = [number for number, tweet in tweets.items() if tweet["username"] == name]
    for number in own[int(value) :]:
        tweets.pop(number)
    for _ in range(int(value) - len(own)):
        number = config["tweet_counter"]
        tweets[str(number)] = {"id": number, "username": name, "content": f"Note {number}.", "tags": [], "mentions": []}
        config["tweet_counter"] = number + 1


_POSTED = ("that [tweet|post]", "the tweet you just posted")

DOMAIN = Domain(
    "TwitterAPI",
    world,
    kinds={
        "tweet": Kind(_tweets, ("tweet {}", "tweet number {}", "post {}"), vague=("one of the tweets",),
                      told=("I mean {}.", "{}."), again=True),
        "message": Kind(lambda feed, rng: note(rng, topic(rng)), ('"{}"',), vague=("something nice",),
                        told=("Let it say {}.", "Say {}.", "The text: {}")),
        "tags": Kind(lambda feed, rng: [f"#{each}" for each in sorted({term(rng, topic(rng)) for _ in range(2)})]),
        "handles": Kind(lambda feed, rng: [f"@{each}" for each in rng.sample(HANDLES, rng.randint(1, 2))]),
        "account": Kind(lambda feed, rng: rng.choice([h for h in HANDLES if h not in (feed.username, *feed.following_list)]),
                        vague=("somebody interesting",), told=("I mean {}.", "{}.")),
        "followed": Kind(lambda feed, rng: rng.choice(feed.following_list) if feed.following_list else None),
        "author": Kind(_authors, again=True),
        "keyword": Kind(lambda feed, rng: rng.choice(sorted(tag[1:] for tweet in feed.tweets.values() for tag in tweet["tags"]) or ["moss"]),
                        ('"{}"', "the word {}")),
        "name": Kind(lambda feed, rng: feed.username),
        "password": Kind(lambda feed, rng: feed.password),
    },
    moves=(
        Move("post_tweet", ("[post|publish|share] a tweet that says {content} with the [tags|hashtags] {tags}", "tweet {content}, tagged {tags}",
                            "[post|share|publish] {content} on [Twitter|social media|my feed] with the hashtags {tags}"),
             {"content": "message", "tags": "tags"}, weight=2.5,
             gives={"tweet": Gift(lambda r: r["id"], _POSTED, ("my tweet tagged {tags}",))}),
        Move("post_tweet", ("post this: {content}, mentioning {mentions}", "tweet {content} and mention {mentions} in it"),
             {"content": "message", "mentions": "handles"}, weight=1.5,
             gives={"tweet": Gift(lambda r: r["id"], ("that [tweet|post]", "the new tweet"), ("my tweet that mentions {mentions}",))}),
        Move("post_tweet", ("post {content} as a tweet", "[publish|put out|send out|draft] a tweet [saying|reading] {content}", "[post|share] {content} on [Twitter|my Twitter account]"), {"content": "message"}, weight=2.5,
             gives={"tweet": Gift(lambda r: r["id"], _POSTED, ("the tweet I had you post",))}),
        Move("retweet", ("retweet {tweet_id}", "share {tweet_id} by retweeting it", "[amplify|boost] {tweet_id} with a retweet"), {"tweet_id": "tweet"}, weight=1.5, fails=_number_gone),
        Move("comment", ("[leave|add|post] the comment {comment_content} on {tweet_id}", "answer {tweet_id} with {comment_content} as a comment", "comment {comment_content} [on|under] {tweet_id}"),
             {"tweet_id": "tweet", "comment_content": "message"}, weight=1.5),
        Move("mention", ("mention {mentioned_usernames} in {tweet_id}", "tag {mentioned_usernames} in {tweet_id}"), {"tweet_id": "tweet", "mentioned_usernames": "handles"}),
        Move("get_tweet", ("[show|read] me {tweet_id}", "[pull up|look at] {tweet_id}"), {"tweet_id": "tweet"}, ("What does {tweet_id} say?",),
             state=State("somebody is mentioned in it", lambda a, r, v: bool(r["mentions"]), _mentioning)),
        Move("search_tweets", ("search the tweets for {keyword}", "look for tweets about {keyword}"), {"keyword": "keyword"},
             ("Who tweeted about {keyword}?",),
             gives={"tweet": Gift(_first_id, ("the tweet you found", "that one"), ("the tweet about {keyword}",))}),
        Move("get_user_tweets", ("list the tweets [of|by] {username}",), {"username": "author"}, ("What has {username} tweeted?",),
             gives={"tweet": Gift(_first_id, ("that tweet", "the only tweet there"), ("the tweet by {username}",))}),
        Move("follow_user", ("follow {username_to_follow}", "start following {username_to_follow}"), {"username_to_follow": "account"}),
        Move("unfollow_user", ("unfollow {username_to_unfollow}", "stop following {username_to_unfollow}"),
             {"username_to_unfollow": "followed"}, once=True),
        Move("list_all_following", ("list everybody I follow", "[show|tell] me whom I follow"), {}, ("Whom do I follow?",), once=True,
             state=State("{value} is [already |]among them", lambda a, r, v: v in r["following_list"], _followed, "account")),
        Move("get_user_stats", ("[show|give] me the statistics of {username}", "[check|see|review] the [stats|numbers] of {username}"), {"username": "author"},
             measure=Measure("tweet count", lambda r: r["tweet_count"], (2, 3, 4), _busy, ("author", lambda a, r: a["username"]))),
    ),
    scenes=("Let's do something for my account.", "I want to be a bit more active online.", "Time to look after my posts."),
    first=Move("authenticate_twitter", ("log in [to|with] my [Twitter |]account {username} [with the|and my] password {password}", "authenticate [me |]on Twitter as {username}, password {password}"),
               {"username": "name", "password": "password"}, once=True, weight=2),
    locked=lambda feed: not feed.authenticated,  # type: ignore[attr-defined]
)  # fmt: skip
