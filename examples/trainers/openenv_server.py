"""A server of entries for OpenEnv, and a client that plays one.

uvicorn --factory openenv_server:app            # serves
python examples/trainers/openenv_server.py      # serves, plays one entry, ends
"""

import socket
import threading
import time

import uvicorn

from pytest_bfcl.extensions.training import openenv
from pytest_bfcl.training import tasks


def app() -> object:
    return openenv.server(tasks("bundled", mode="fc", partial=True), sessions=16)


def main() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = uvicorn.Server(uvicorn.Config(app(), port=port, log_level="warning"))
    threading.Thread(target=running.run, daemon=True).start()
    while not running.started:
        time.sleep(0.05)
    with openenv.EntryClient(f"http://127.0.0.1:{port}").sync() as env:
        found = env.reset(entry_id="multi_turn_base_0")
        print(found.observation.messages[-1]["content"])
        while not found.done:
            found = env.step(openenv.EntryAction(text="I cannot do that."))
        print("reward:", found.reward, env.state())


if __name__ == "__main__":
    main()
