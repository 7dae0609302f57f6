"""TwitterAPI: tweets, comments, retweets and followed accounts of one user (simulators spec §4)."""

from __future__ import annotations

import copy
from typing import Any

from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators.toolkit import Oversized, Simulator, tool

MAX_MENTIONS = 10_000
"""Most mentions: a tweet's mentions can be passed to `mention` again and would double each time."""


class TwitterAPI(Simulator):
    """A microblog seen by one account.

    Comment keys of a configuration stay texts while lookups use numbers, so those comments are never found. Unlike
    the reference, tweets posted without mentions never share a list (multi_turn spec §5).
    """

    name = "TwitterAPI"
    summary = "Microblog seen by one account: posting, commenting, retweeting, mentioning and following."

    def load(self, config: Parsed, *, long_context: bool = False, texts: Fields | None = None, **context: Any) -> None:
        """Set the state; there is no long-context variant."""
        self.username: str = config.get("username", "john")
        self.password: str = config.get("password", "john123")
        self.authenticated: bool = config.get("authenticated", False)
        self.tweets: dict[int, Parsed] = {int(key): tweet for key, tweet in config.get("tweets", {}).items()}
        self.comments: dict[Any, list[Parsed]] = config.get("comments", {})
        self.retweets: dict[str, list[int]] = config.get("retweets", {})
        self.following_list: list[str] = config.get("following_list", ["alice", "bob"])
        self.tweet_counter: int = config.get("tweet_counter", 0)

    def _locked(self, tool_name: str) -> JsonObject:
        return self.fails(f"{tool_name}.logged_out", "This needs a login; authenticate first.")

    def _unknown(self, tweet_id: int) -> JsonObject:
        return self.fails("retweet.unknown", f"There is no tweet with the id {tweet_id}.", tweet_id)

    @tool(writes=True)
    def authenticate_twitter(self, username: str, password: str) -> JsonObject:
        """Log in to the microblog. Posting, commenting, retweeting and following need it.

        Args:
            username: Name of the account.
            password: Password of the account.

        Returns:
            authentication_status (boolean): Whether name and password are right.
        """
        matches = username == self.username and password == self.password
        if matches:
            self.authenticated = True
        return {"authentication_status": matches}

    @tool(writes=False)
    def posting_get_login_status(self) -> JsonObject:
        """Tell whether the account is logged in to the microblog.

        Returns:
            login_status (boolean): True after a successful login.
        """
        return {"login_status": self.authenticated}

    @tool(writes=True)
    def post_tweet(
        self,
        content: str,
        tags: list[str] = [],  # noqa: B006 - never changed: the tweet gets a copy
        mentions: list[str] = [],  # noqa: B006
    ) -> JsonObject:
        """Post a tweet. Needs a login.

        Args:
            content: Text of the tweet.
            tags: Tags of the tweet, each with its leading `#`.
            mentions: Accounts mentioned in the tweet, each with its leading `@`.

        Returns:
            id (integer): Id of the new tweet.
            username (string): The account that posted it.
            content (string): Text of the tweet.
            tags (array): Tags of the tweet.
            mentions (array): Accounts mentioned.
        """
        if not self.authenticated:
            return self._locked("post_tweet")
        tweet: JsonObject = {
            "id": self.tweet_counter,
            "username": self.username,
            "content": content,
            "tags": copy.copy(tags),
            "mentions": copy.copy(mentions),
        }
        self.tweets[self.tweet_counter] = tweet
        self.tweet_counter += 1
        return tweet

    @tool(writes=True)
    def retweet(self, tweet_id: int) -> JsonObject:
        """Retweet a tweet. Needs a login.

        Args:
            tweet_id: Id of the tweet.

        Returns:
            retweet_status (string): Whether it is retweeted now or had been before.
        """
        if not self.authenticated:
            return self._locked("retweet")
        if tweet_id not in self.tweets:
            return self._unknown(tweet_id)
        own = self.retweets.setdefault(self.username, [])
        if tweet_id in own:
            return {"retweet_status": self.say("retweet.again", "Retweeted before")}
        own.append(tweet_id)
        return {"retweet_status": self.say("retweet.done", "Retweeted")}

    @tool(writes=True)
    def comment(self, tweet_id: int, comment_content: str) -> JsonObject:
        """Comment on a tweet. Needs a login.

        Args:
            tweet_id: Id of the tweet.
            comment_content: Text of the comment.

        Returns:
            comment_status (string): What happened.
        """
        if not self.authenticated:
            return self._locked("comment")
        if tweet_id not in self.tweets:
            return self._unknown(tweet_id)
        self.comments.setdefault(tweet_id, []).append({"username": self.username, "content": comment_content})
        return {"comment_status": self.say("comment.done", "The comment is posted")}

    @tool(writes=True)
    def mention(self, tweet_id: int, mentioned_usernames: list[str]) -> JsonObject:
        """Add mentions of accounts to an existing tweet. No login needed.

        Args:
            tweet_id: Id of the tweet.
            mentioned_usernames: Accounts to mention, each with its leading `@`.

        Returns:
            mention_status (string): What happened.
        """
        if tweet_id not in self.tweets:
            return self._unknown(tweet_id)
        extend = self.tweets[tweet_id]["mentions"].extend
        added = list(mentioned_usernames)
        if len(self.tweets[tweet_id]["mentions"]) + len(added) > MAX_MENTIONS:
            raise Oversized(f"a tweet holds at most {MAX_MENTIONS:,} mentions")
        extend(added)
        return {"mention_status": self.say("mention.done", "The accounts are mentioned")}

    @tool(writes=True)
    def follow_user(self, username_to_follow: str) -> JsonObject:
        """Follow an account. Needs a login.

        Args:
            username_to_follow: Name of the account.

        Returns:
            follow_status (boolean): False when it was followed already.
        """
        if not self.authenticated:
            return self._locked("follow_user")
        if username_to_follow in self.following_list:
            return {"follow_status": False}
        self.following_list.append(username_to_follow)
        return {"follow_status": True}

    @tool(writes=True)
    def unfollow_user(self, username_to_unfollow: str) -> JsonObject:
        """Stop following an account. Needs a login.

        Args:
            username_to_unfollow: Name of the account.

        Returns:
            unfollow_status (boolean): False when it was not followed.
        """
        if not self.authenticated:
            return self._locked("unfollow_user")
        if username_to_unfollow not in self.following_list:
            return {"unfollow_status": False}
        self.following_list.remove(username_to_unfollow)
        return {"unfollow_status": True}

    @tool(writes=False)
    def list_all_following(self) -> JsonObject:
        """List all followed accounts. Needs a login.

        Returns:
            following_list (array): Names of the accounts.
        """
        if not self.authenticated:
            return self._locked("list_all_following")
        return {"following_list": self.following_list}

    @tool(writes=False)
    def get_tweet(self, tweet_id: int) -> JsonObject:
        """Show one tweet.

        Args:
            tweet_id: Id of the tweet.

        Returns:
            id (integer): Id of the tweet.
            username (string): The account that posted it.
            content (string): Text of the tweet.
            tags (array): Tags of the tweet.
            mentions (array): Accounts mentioned.
        """
        if tweet_id not in self.tweets:
            return self._unknown(tweet_id)
        return self.tweets[tweet_id]

    @tool(writes=False)
    def get_user_tweets(self, username: str) -> list[Parsed]:
        """List the tweets of an account.

        Args:
            username: Name of the account.

        Returns:
            user_tweets (array): The tweets, each with its id, username, content, tags and mentions.
        """
        return [tweet for tweet in self.tweets.values() if tweet["username"] == username]

    @tool(writes=False)
    def search_tweets(self, keyword: str) -> list[Parsed]:
        """List the tweets that contain a text or carry exactly that tag, upper and lower case alike.

        Args:
            keyword: Text to look for in the content, or a whole tag.

        Returns:
            matching_tweets (array): The tweets, each with its id, username, content, tags and mentions.
        """
        return [
            tweet
            for tweet in self.tweets.values()
            if keyword.lower() in tweet["content"].lower() or keyword.lower() in [tag.lower() for tag in tweet["tags"]]
        ]

    @tool(writes=False)
    def get_tweet_comments(self, tweet_id: int) -> list[Parsed] | Parsed:
        """List the comments on a tweet.

        Args:
            tweet_id: Id of the tweet.

        Returns:
            comments (array): Objects with `username` and `content`, oldest first.
        """
        if tweet_id not in self.tweets:
            return self._unknown(tweet_id)
        return self.comments.get(tweet_id, [])

    @tool(writes=False)
    def get_user_stats(self, username: str) -> JsonObject:
        """Count the tweets, retweets and followed accounts of an account.

        Args:
            username: Name of the account.

        Returns:
            tweet_count (integer): Tweets the account posted.
            following_count (integer): Accounts followed; known for the own account only, else 0.
            retweet_count (integer): Tweets the account retweeted.
        """
        return {
            "tweet_count": len([tweet for tweet in self.tweets.values() if tweet["username"] == username]),
            "following_count": len(self.following_list) if username == self.username else 0,
            "retweet_count": len(self.retweets.get(username, [])),
        }
