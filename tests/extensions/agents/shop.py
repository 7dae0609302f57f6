"""A shop as an MCP server: ``python shop.py [stdio | http PORT] [--dies | --hangs | --huge]``; its state is its own."""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp.server import MCPServer


def opened(flags: Sequence[str], environment: Mapping[str, str]) -> MCPServer:
    """A shop with a new cart, which a file of the variable ``CART`` keeps; ``--log=FILE`` counts its starts."""
    server, cart = MCPServer("shop"), dict[str, int]()
    kept = Path(environment["CART"]) if "CART" in environment else None
    if kept is not None and kept.exists():
        cart.update(json.loads(kept.read_text()))
    for flag in flags:
        if flag.startswith("--log="):
            with Path(flag.removeprefix("--log=")).open("a") as file:
                file.write("started\n")

    def keep() -> None:
        if kept is not None:
            kept.write_text(json.dumps(cart))

    @server.tool(name="add-to-cart")
    def add_to_cart(article: str, count: int = 1) -> str:
        """Puts an article into the cart."""
        if "--dies" in flags:
            print("out of paper", file=sys.stderr, flush=True)
            os._exit(3)
        if "--hangs" in flags:
            time.sleep(60)
        if "--huge" in flags:
            return "x" * 10_000_000
        if count < 1:
            raise ValueError("at least one")
        cart[article] = cart.get(article, 0) + count
        keep()
        return f"{cart[article]} of {article}"

    @server.tool()
    def get_cart() -> dict[str, int]:
        """Tells what is in the cart."""
        return cart

    @server.tool()
    def note(text: dict[str, dict[str, str]]) -> str:
        """Keeps a note of notes."""
        cart.update({f"note {name}": len(each) for name, each in text.items()})
        keep()
        return str(text)

    @server.tool()
    def empty() -> str:
        """Empties the cart."""
        cart.clear()
        return "empty"

    if "--more" in flags:

        @server.tool()
        def wish(article: str) -> str:
            """Remembers what somebody wishes for."""
            return f"{article} is on the list"

    @server.resource("shop://size")
    def size() -> str:
        """How much is in the cart."""
        return str(sum(cart.values()))

    return server


if __name__ == "__main__":
    shop = opened(sys.argv[1:], os.environ)
    if sys.argv[1:2] == ["http"]:
        shop.run("streamable-http", port=int(sys.argv[2]))
    else:
        shop.run("stdio")
