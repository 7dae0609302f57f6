"""Workers behind ssh, over an sshd of our own: other folder, other environment, the same run directory in the end."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.conftest import Bench
from tests.session.test_workers import ALL, OPTIONS, timeless

SSHD = shutil.which("sshd") or next((p for p in ("/usr/sbin/sshd", "/usr/local/sbin/sshd") if Path(p).exists()), None)


@pytest.fixture
def ssh_config(tmp_path: Path) -> Iterator[Path]:
    """A client configuration for the host ``bench``: an sshd on the loopback interface with throw-away keys."""
    if SSHD is None or not shutil.which("ssh") or not shutil.which("ssh-keygen"):
        pytest.skip("no sshd here (package openssh-server)")
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    shutil.copy(folder / "user.pub", folder / "authorized")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        f"PidFile {folder}/pid\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nUsePAM no\n"
    )
    (folder / "config").write_text(
        f"Host bench\n HostName 127.0.0.1\n Port {port}\n User {getpass.getuser()}\n IdentityFile {folder}/user\n"
        f" IdentitiesOnly yes\n StrictHostKeyChecking no\n UserKnownHostsFile {folder}/known\n LogLevel ERROR\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen([SSHD, "-D", "-f", str(folder / "sshd_config"), "-E", str(folder / "log")])
    try:
        for _ in range(50):
            command = ["ssh", "-F", str(folder / "config"), "bench", "true"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                break
            time.sleep(0.1)
        else:
            pytest.skip(f"sshd does not let us in: {done.stderr} {(folder / 'log').read_text()}")
        yield folder / "config"
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def elsewhere(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it lies on the other host; the run directory does not exist there."""
    folder = tmp_path_factory.mktemp("elsewhere")
    bench.with_conversations(3)
    shutil.copytree(bench.path / "bench", folder / "bench")
    shutil.copy(bench.path / "pytest.ini", folder)
    return folder


def through(ssh_config: Path, folder: Path, count: int = 1) -> list[str]:
    """Options for workers there."""
    spec = f"ssh=bench//ssh_config={ssh_config}//python={sys.executable}//chdir={folder}"
    return ["--dist=load", f"--tx={count}*{spec}"]


@pytest.mark.slow
def test_workers_behind_ssh_give_the_summary_of_one_process(bench: Bench, ssh_config: Path, elsewhere: Path) -> None:
    server = bench.serve({"kind": 400, "ids": "simple_python_(4|17)$"})
    code, text = bench.finish(*OPTIONS, out="whole")
    assert code == 1, text
    server.forget()
    code, text = bench.finish(*OPTIONS, *through(ssh_config, elsewhere, 2))
    assert code == 1, text
    errors = {entry_id: line["detail"] for entry_id, line in bench.records().items() if line["outcome"] == "error"}
    assert errors.keys() == {"simple_python_4", "simple_python_17"}, errors
    assert set(server.asked().values()) == {1}
    assert len(bench.records()) == ALL + 3
    assert timeless(bench.summary()).splitlines() == timeless(bench.summary("whole")).splitlines()
    assert not (elsewhere / "run").exists()
    assert sorted(path.name for path in (bench.path / "run" / "journal").iterdir()) == ["gw0.jsonl", "gw1.jsonl"]
    assert len(bench.journal()) == len(bench.journal("whole"))

    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.results import record_key

    run = RunDirectory.open(bench.path / "run")
    kept = {line["id"] for line in run.records() if run.transcripts.load(record_key(line), line["started_at"])}
    assert kept == set(bench.records()) - {"simple_python_4", "simple_python_17"}
    server.faults()
    server.forget()
    code, text = bench.finish(*OPTIONS, *through(ssh_config, elsewhere))
    assert code == 0, text
    assert {line["id"] for line in server.lines()} == {"simple_python_4", "simple_python_17"}


def test_replies_come_back_before_their_entries_report(bench: Bench, ssh_config: Path, elsewhere: Path) -> None:
    server = bench.serve({"kind": "slow", "seconds": 30, "ids": "simple_python_0$"})
    process = bench.start(*OPTIONS, *through(ssh_config, elsewhere), stdout=subprocess.DEVNULL)
    for _ in range(400):
        if len(server.lines("answered")) >= 20:
            break
        time.sleep(0.05)
    time.sleep(1)
    kept = bench.journal()
    assert len(kept) >= 20
    assert not bench.records()  # the first entry holds up all reports
    process.kill()
    process.wait()
    server.faults()
    server.forget()
    code, text = bench.finish(*OPTIONS, *through(ssh_config, elsewhere))
    assert code == 0, text
    assert not set(server.asked()) & kept


def test_other_data_on_the_other_host_is_refused(bench: Bench, ssh_config: Path, elsewhere: Path) -> None:
    server = bench.serve()
    with (elsewhere / "bench" / "multiple.jsonl").open("a") as file:
        file.write("\n")
    code, text = bench.finish(*OPTIONS, *through(ssh_config, elsewhere, 2))
    assert code == pytest.ExitCode.INTERRUPTED, text
    assert "has other data than the controller" in text
    assert not server.lines()
