"""Users' mistakes on the command line: one message, exit code 2, no traceback, nothing overwritten."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings

ODD_LINES = [
    '{"id":', "[]", '{"id": 7}', '{"id": "x", "category": "nosuch"}', '{"id": "x", "category": ["irrelevance"]}',
    '{"id": "x", "model": {}}', '{"id": "x", "repeat": "x"}', '{"id": "x", "outcome": "zzz"}',
    '{"id": "x", "latency_s": "x"}', '{"id": "x", "input_tokens": [[["x"]]]}', '{"id": "x", "cost_usd": [1]}',
    '{"id": "x", "detail": "x"}', '{"id": "x", "extra": 7}',
]  # fmt: skip


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    """A copy of the prepared folder."""
    return shutil.copytree(prepared, tmp_path / "copy")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a good run, one with odd lines, one of another time, a file and a folder of something else."""
    tmp_path = tmp_path_factory.mktemp("mistakes")
    entry = {"id": "irrelevance_1", "question": [[{"role": "user", "content": "x"}]], "function": []}
    tmp_path.joinpath("own.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    for name in ("good", "odd"):
        run(tmp_path / "own.jsonl", "oracle:", out=tmp_path / name, settings=Settings(), categories=["irrelevance"])
    with tmp_path.joinpath("odd", "results.jsonl").open("a", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in ODD_LINES))
    for name, content in (("corrupt", "{broken"), ("strange", '{"dataset": 7}'), ("listed", "[1]")):
        tmp_path.joinpath(name).mkdir()
        tmp_path.joinpath(name, "run.json").write_text(content, encoding="utf-8")
    tmp_path.joinpath("other").mkdir()
    tmp_path.joinpath("other", "file.txt").write_text("hi", encoding="utf-8")
    return tmp_path


VERBS = ("compare", "leaderboard", "merge", "export", "export report", "score", "validate")
NOT_RUNS = ("nosuch", "corrupt", "strange", "listed", "other")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", NOT_RUNS)
def test_what_is_no_run_is_said_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str, name: str
) -> None:
    out = ["-o", str(folder / "made")] if verb in ("leaderboard", "merge", "export") else []
    assert main([*verb.split(), str(folder / name), *out]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith(f"pytest-bfcl {verb}: ")
    assert "\n" not in said
    assert not (folder / "made").exists()


@pytest.mark.parametrize("verb", ["leaderboard", "merge", "export"])
@pytest.mark.parametrize("out", ["own.jsonl", "own.jsonl/below"])
def test_a_file_in_the_way_of_a_folder(folder: Path, capsys: pytest.CaptureFixture[str], verb: str, out: str) -> None:
    before = folder.joinpath("own.jsonl").read_bytes()
    assert main([*verb.split(), str(folder / "good"), "-o", str(folder / out)]) == 2
    assert "own.jsonl" in capsys.readouterr().err
    assert folder.joinpath("own.jsonl").read_bytes() == before


def test_a_leaderboard_does_not_replace_a_runs_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", str(folder / "good"), "-o", str(folder / "good")]) == 2
    assert "name another folder" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["compare", "leaderboard", "merge", "export report"])
def test_odd_result_lines_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    out = ["-o", str(folder / "made")] if verb in ("leaderboard", "merge") else []
    runs = [str(folder / "odd")] + ([str(folder / "good")] if verb == "compare" else [])
    assert main([*verb.split(), *runs, *out]) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert f"13 damaged lines of {folder / 'odd' / 'results.jsonl'} left out, the first: line " in said
    if verb in ("compare", "leaderboard"):
        assert "--allow-missing" in said
        assert main([*verb.split(), *runs, *out, "--allow-missing"]) == 0


TABLE: list[tuple[str, int, str]] = [
    # command line, exit code, what is said
    ("scor", 2, "did you mean 'score'"),
    ("leaderbord x", 2, "did you mean 'leaderboard'?"),
    ("validat", 2, "did you mean 'validate'?"),
    ("xyzzy", 2, "known: fetch, run, score"),
    ("--nosuch", 2, "no verb '--nosuch'"),
    ("score", 2, "required: PATH"),
    ("score nosuch.jsonl", 2, "no file at nosuch.jsonl"),
    ("score lines.jsonl --data bundeld", 2, "did you mean 'bundled'?"),
    ("score lines.jsonl --data official", 2, "run `pytest-bfcl fetch` once"),
    ("score lines.jsonl --data owm.jsonl", 2, "did you mean 'own.jsonl'"),
    ("score pretty.jsonl --data bundled", 2, "one JSON array printed over"),
    ("score lines.jsonl --rules oficial", 2, "invalid choice: 'oficial'"),
    ("score lines.jsonl --rule official x", 2, "unrecognized arguments"),
    ("score lines.jsonl --decodr hermes x", 2, "unrecognized arguments"),
    ("score lines.jsonl --data bundled -o own.jsonl/x", 2, "own.jsonl"),
    ("score lines.jsonl --data empty", 2, "holds neither"),
    ("validate nosuch.jsonl", 2, "no data at nosuch.jsonl"),
    ("validate pretty.jsonl", 1, "one JSON array printed over"),
    ("validate own.jsonl --categories multiturn", 2, "did you mean 'multi_turn'"),
    ("validate own.jsonl --simulator nosuch:X", 2, "--simulator nosuch:X"),
    ("export good", 2, "say where to write"),
    ("export good -o made --layout offical", 2, "invalid choice"),
    ("export good -o made --names dot", 2, "invalid choice"),
    ("export good -o made --as", 2, "expected one argument"),
    ("compare good", 2, "compare"),
    ("compare good nosuch", 2, "nosuch"),
    ("compare good good#nobody:x", 2, "has no model"),
    ("merge good", 2, "required: -o/--out"),
    ("leaderboard", 2, "required: runs, -o/--out"),
    ("leaderboard good", 2, "required: -o/--out"),
    ("leaderboard good -o made --model-info nosuch.toml", 2, "nosuch.toml"),
    ("export report", 2, "required"),
    ("export report nosuch", 2, "nosuch"),
    ("export report good --nosuch", 2, "unrecognized arguments: --nosuch"),
    ("models --modle x", 2, "did you mean '--model'?"),
    ("models opnai", 2, "unrecognized arguments: opnai"),
    ("models --model opnai:x", 2, "did you mean 'openai'?"),
    ("doctor --time x", 2, "not a number"),
    ("fetch --forse", 2, "did you mean '--force'?"),
    ("fetch --from nosuch.whl", 2, "nosuch.whl"),
    ("validate schema extra", 2, "invalid choice: 'extra'"),
    ("new --kindd x", 2, "new"),
    ("new log nosuch.jsonl", 2, "cannot read nosuch.jsonl"),
    ("new log own.jsonl", 2, "no conversation: "),
    ("score wide.jsonl --data bundled", 2, "this is UTF-16, JSON lines are UTF-8"),
    ("score null.jsonl --data bundled", 2, "this is no text"),
    ("score blank.jsonl --data bundled", 2, "holds no lines to judge"),
    ("score own.jsonl --data bundled", 1, "this is an entry without a reply"),
    ("validate wide.jsonl", 1, "this is UTF-16"),
    ("validate blank.jsonl", 1, "the file holds no entries"),
    ("validate own.jsonl nosuch.jsonl", 2, "no data at"),
    ("compare stability", 2, "required: RUN"),
    ("compare stability nosuch", 2, "nosuch does not exist"),
    ("compare stability good --smoke x", 2, "not a whole number"),
    ("validate audit nosuch.jsonl", 2, "no data at"),
    ("validate audit bundled --rules nosuch", 2, "unknown rule 'nosuch'"),
    ("validate audit bundled --runs nosuch", 2, "nosuch"),
    ("validate audit bundled --categories multiturn", 2, "did you mean 'multi_turn'"),
    ("new entry", 2, "is required"),
    ("new entry --from-python nosuch_module:f", 2, "nosuch_module"),
    ("new entry --from-openapi own.jsonl", 2, "no OpenAPI document"),
    ("new entry --from-json nosuch.json", 2, "nosuch.json"),
    ("new entry --from-json own.jsonl --kind simpl", 2, "invalid choice: 'simpl'"),
    ("doctor wire", 2, "name a run directory, or use --list"),
    ("doctor wire good", 2, "no wire checks in good"),
    ("doctor wire --api chatt", 2, "invalid choice"),
    ("mcp", 2, "mcp"),
    ("export report good --level half", 2, "invalid choice: 'half'"),
    ("validate schema -o empty", 2, "Is a directory"),
    ("new split", 2, "required: DATA"),
    ("fetch --version 1.2", 2, "version 1.2 is not known to this release"),
    ("doctor --modle x", 2, "did you mean '--model'?"),
    ("doctor --model gpt-4o", 2, "for instance openai:gpt-4o"),
    ("doctor --model opnai:gpt-4o", 2, "did you mean 'openai'?"),
    ("mcp", 2, "name either a simulated system"),
    ("mcp TradingBott", 2, "did you mean 'TradingBot'?"),
    ("mcp TradingBot --entry simple_java_0", 2, "name either a simulated system"),
    ("mcp --entry nosuch_0 --data own.jsonl", 2, "has no entry 'nosuch_0'"),
    ("new entry --from-openapi own.jsonl", 2, "own.jsonl"),
    ("score own.jsonl good -o made", 1, "2 lines"),
    ("compare own.jsonl good", 1, "this is an entry without a reply"),
    ("merge good strange -o made", 2, "strange"),
    ("explain good#gpt", 2, "gpt"),
    ("leaderboard good -o made --board nosuch.csv", 2, "No such file or directory; name a published data_overall.csv"),
    ("view own.jsonl --no-open", 2, "own.jsonl is a file: name its folder"),
    ("view nosuch --no-open", 2, "nosuch does not exist"),
    ("verify good", 2, "name the run to compare with: --reference RUN"),
    ("verify good --reference good", 2, "is the same run"),
    ("score prove nosuch", 2, "nosuch does not exist"),
    ("comment good --post", 2, "leave out --post to print the comment"),
    ("new split own.jsonl --train 80 -o x", 2, "between 0 and 1"),
    ("new tasks --n 5 -o t --simulators Trading", 2, "did you mean 'TradingBot'?"),
    ("run --model oracle: good", 2, "is a run directory, not data"),
    ("run --model gemini:m --data own.jsonl", 2, "GEMINI_API_KEY is not set"),
    ("run --model oracle: --sample 0", 2, "'0' is not valid: a whole number of at least 1"),
    ("run --model oracle: --budget 5 own.jsonl", 2, "no price list has this model"),
    ("evaluate --model gpt-4o", 2, "outputs you have: pytest-bfcl score PATH"),
    ("scores", 2, "pytest-bfcl leaderboard"),
    ("test-categories", 2, "pytest --markers"),
    ("download", 2, "pytest-bfcl fetch"),
    ("diff good odd", 2, "pytest-bfcl compare BEFORE AFTER"),
    ("help", 2, "pytest-bfcl VERB --help"),
    ("version", 2, "pytest-bfcl --version"),
    ("run --model nobody:x", 2, "unknown provider"),
    ("run --model oracle: --param x", 2, "NAME=VALUE"),
    ("run --model oracle: --concurrency 0", 2, "from 1 to"),
    ("run --model oracle: --price x", 2, "is not valid"),
    ("run --model oracle: --modle x", 2, "did you mean"),
    ("run", 2, "--model"),
    ("run --model oracle: --ids nowhere.txt --data bundled", 2, "cannot read the ids"),
    ("run --model oracle: --transform nonsense", 2, "--bfcl-transform"),
    ("run --model oracle: --model-info nowhere.toml", 2, "--bfcl-model-info: cannot read"),
    ("run --model oracle: nowhere.jsonl", 2, "no data at"),
    ("run oracle:", 2, "for instance --model openai:gpt-4o"),
    ("run --model oracle: --data bundled -m live", 2, "--categories NAMES selects here"),
    ("run --model oracle: --data bundled -n 4", 2, "--concurrency N"),
    ("run --model oracle: simple_java", 2, "select with --bfcl-categories simple_java"),
    ("compare --baseline good good", 2, "pytest-bfcl compare BEFORE AFTER"),
    ("compare good/run.json good", 2, "is a file of a run: name its directory"),
    ("compare run.zip good", 2, "is an archive: unpack it"),
    ("explain good good", 2, "pytest-bfcl compare BEFORE AFTER --causes"),
    ("explain good --against odd", 2, "pytest-bfcl compare BEFORE AFTER --causes"),
    ("compare good good", 2, "is compared with itself"),
    ("explain good/run.json", 2, "is a file of a run: name its directory"),
    ("explain good --cause dates", 2, "has no cause 'dates'; its causes: none"),
    ("export report good good", 2, "pytest-bfcl compare A B"),
    ("export report good -o x", 2, "view site writes elsewhere"),
    ("export report good/results.jsonl", 2, "is a file: name the run's directory"),
    ("score --model gpt-4o", 2, "pytest --model SPEC asks a model"),
    ("score good", 2, "not found unchanged: name them with --data PATH"),
    ("models gpt-4o", 2, "--model PROVIDER:NAME shows one"),
    ("score good -o good/results.jsonl", 2, "would overwrite a file of a run"),
    ("score lines.jsonl --data bundled -o lines.jsonl", 2, "would overwrite what is read"),
    ("compare good odd --json good/run.json --allow-missing", 2, "would overwrite a file of a run"),
    ("compare good good/", 2, "is compared with itself"),
    ("run --model oracle: own.jsonl --data bundled", 2, "entries are named twice: own.jsonl and --data bundled"),
    ("run --model oracle: --data bundled --api grpc", 2, "one of chat, responses"),
    ("validate own.jsonl --data bundled", 2, "own.jsonl is checked in place of --data bundled"),
    ("explain wide.jsonl", 2, "save it so (iconv -f UTF-16 -t UTF-8 FILE)"),
    ("explain own.jsonl", 2, "this is an entry without a reply"),
    ("doctor gpt-4o", 2, "--model PROVIDER:NAME names the model"),
    ("explain official", 2, "holds scores of bfcl-eval, not replies"),
    ("leaderboard official -o made", 2, "makes a run of the replies"),
    ("new entry --from-python tools.py:nothing", 2, "tools has no function 'nothing'"),
    ("doctor http://localhost:1", 2, "--base-url URL"),
    ("doctor wire --model openai:m", 2, "-m wire"),
    ("fetch official", 2, "it fetches the official data alone"),
    ("leaderboard good", 2, "it is where to write"),
    ("new split bundled --test 2 -o x", 2, "--train SHARE"),
    ("new mytool", 2, "pytest-bfcl new entry"),
    ("validate good", 2, "is a run directory, not data"),
    ("export good -o x.csv", 2, "--table x.csv"),
    ("export good --official -o made", 0, "no leaderboard scores, not comparable because of data set: official → own"),
    ("export good --format csv -o x", 2, "--table FILE.csv"),
    ("export good --format wandb -o x", 2, "--bfcl-report wandb"),
    ("export good --format offical -o x", 2, "no format 'offical'"),
]


@pytest.mark.parametrize(("line", "code", "said"), TABLE)
def test_a_mistake_is_one_message(
    line: str, code: int, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "PYTEST_BFCL_CACHE"):
        monkeypatch.setenv(variable, str(folder / "nowhere"))
    for variable in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "CI_API_V4_URL", "GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(variable, raising=False)
    folder.joinpath("pretty.jsonl").write_text(json.dumps([{"id": "a"}, {"id": "b"}], indent=1), encoding="utf-8")
    folder.joinpath("wide.jsonl").write_text('{"id": "a"}\n' * 9, encoding="utf-16")
    folder.joinpath("null.jsonl").write_bytes(b"\0" * 99)
    folder.joinpath("blank.jsonl").write_bytes(b"")
    folder.joinpath("lines.jsonl").write_text('{"id": "simple_python_0", "output": "x"}\n' * 50, encoding="utf-8")
    folder.joinpath("empty").mkdir()
    folder.joinpath("official", "m").mkdir(parents=True)
    folder.joinpath("official", "m", "BFCL_v4_simple_java_score.json").write_text("{}\n", encoding="utf-8")
    folder.joinpath("tools.py").write_text("def f(city: str) -> str: ...\n", encoding="utf-8")
    folder.joinpath("run.zip").write_bytes(b"PK")
    found = main(line.split())
    caught = capsys.readouterr()
    told = (caught.err + caught.out).splitlines()
    assert (found, [each for each in told if "Traceback" in each]) == (code, []), told
    assert len(told) <= 5, told
    assert said in "\n".join(told)
