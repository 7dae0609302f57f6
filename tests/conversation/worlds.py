"""A small simulated API, entries that use it, and a model that answers from a list."""

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.models import Request
from pytest_bfcl.settings import Settings
from pytest_bfcl.simulators import Simulator, register_simulator, tool
from pytest_bfcl.transcript import Reply, ToolCall

TEXTS = Texts.own()
SETTINGS = Settings()


@register_simulator
class Shelf(Simulator):
    """A shelf of books."""

    name = "Shelf"
    summary = "A shelf of books."

    def load(self, config, *, long_context=False, **context):
        assert not context.keys() & {"snapshot", "provider"}
        self.books = list(config.get("books", []))

    @tool(writes=True)
    def add_book(self, title: str) -> dict:
        """Put a book on the shelf.

        Args:
            title: The book's title.
        """
        self.books.append(title)
        return {"count": len(self.books)}

    @tool(writes=False)
    def list_books(self) -> list:
        """Name the books."""
        return list(self.books)


DOCS = {doc["name"]: doc for doc in Shelf.documents()}


def user(text):
    return [{"role": "user", "content": text}]


def shelf_entry(turns=("put Emma on the shelf",), missed=None, **fields):
    held = {turn: [DOCS[name] for name in names] for turn, names in (missed or {}).items()}
    names = {doc["name"] for docs in held.values() for doc in docs}
    return Entry(
        id="multi_turn_base_900",
        category="multi_turn_base",
        question=[user(text) if text else [] for text in turns],
        function=[doc for name, doc in DOCS.items() if name not in names],
        possible_answer=[[] for _ in turns],
        involved_classes=["Shelf"],
        initial_config={"Shelf": {"books": ["Ulysses"]}},
        missed_function=held,
        **fields,
    )


def calls(*pairs, text=None, **fields):
    made = tuple(ToolCall(name, arguments, f"id-{n}") for n, (name, arguments) in enumerate(pairs))
    return Reply(text=text, tool_calls=made, **fields)


class Listed:
    """Answers from a list, then says it is done; keeps every request it was sent."""

    underscore_names = False

    def __init__(self, *replies, mode="fc"):
        self.replies = list(replies)
        self.mode = mode
        self.spec = f"listed:model@{mode}"
        self.requests: list[Request] = []

    async def generate(self, request):
        self.requests.append(request)
        reply = self.replies.pop(0) if self.replies else "done"
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(text=reply)

    async def aclose(self):
        pass
