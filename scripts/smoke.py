"""Try an installed `mcp-knowledge` without any network: every part of it, and its data, must be in the package.

    python scripts/smoke.py PATH/TO/mcp-knowledge

On Linux, in the environment of the tests. Ends with 1 and the fault, or prints how long each thing took.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from server_use import QUESTION, Client
from steps import StepError, expect, run

INSIDE = "--inside"
START_S = 60.0
STOP_S = 15.0
POLL_S = 0.05
ANSWERING = "volunteer-handbook.docx"
JUDGED = {
    "docs.jsonl": {"id": "d1", "title": "Quay", "text": "The travel to the quay is paid from the second visit on."},
    "queries.jsonl": {"id": "q1", "query": "who pays the travel to the quay", "relevant": ["d1"], "kind": "fact"},
}


def smoke(program: Path, work: Path) -> list[tuple[str, float]]:
    """What was tried, with the seconds that it took.

    Raises:
        StepError: something does not work.
    """
    env = {"PATH": os.environ["PATH"], "HOME": str(work), "LANG": "C.UTF-8"}
    took: list[tuple[str, float]] = []

    def command(*arguments: str) -> str:
        started = time.monotonic()
        said = run(program, "--data-dir", str(work / "data"), *arguments, env=env, cwd=work)
        took.append((next(word for word in arguments if not word.startswith("/")), time.monotonic() - started))
        return said

    expect(command("--version").startswith("mcp-knowledge "), "no version")
    python = program.parent / "python"
    run(python, "-m", "mcp_knowledge", "--help", env=env, cwd=work)
    folder = Path(
        run(python, "-c", "import mcp_knowledge; print(mcp_knowledge.__path__[0])", env=env, cwd=work).strip()
    )
    samples = [path for path in sorted((folder / "samples").iterdir()) if path.suffix != ".py"]
    report = json.loads(command("ingest", "--json", *map(str, samples)))
    expect(len(report["ready"]) == len(samples), f"not every sample was read: {report}")
    found = json.loads(command("search", QUESTION, "--json"))
    expect("quay" in found["hits"][0]["content"], "the search finds something else")
    started = time.monotonic()
    first_answer_s = ask_over_stdio([str(program), "--data-dir", str(work / "data"), "mcp"], env, work)
    took += [("mcp: initialize answered", first_answer_s), ("mcp: searched and closed", time.monotonic() - started)]
    judged = work / "judged"
    judged.mkdir()
    for name, line in JUDGED.items():
        (judged / name).write_text(json.dumps(line) + "\n")
    command("eval", str(judged), "--mode", "hybrid", "--fail-under", "recall@5=1")
    command("doctor")
    started = time.monotonic()
    with serving(program, work, env) as url:
        took.append(("serve until it listens", time.monotonic() - started))
        client = Client(url)
        client.wait_ready()
        took.append(("serve until it is ready", time.monotonic() - started))
        expect(len(client.upload([path for path in samples if path.name == ANSWERING])) == 1, "an upload is lost")
        expect(bool(client.search()) and "quay" in client.ask_over_mcp(), "the server finds nothing")
        expect("<html" in client.text("/") and "{" in client.text(client.first_stylesheet()), "no dashboard")
    left = {path.name for path in work.iterdir()} - {"data", "served", "judged", "mcp.log", "serve.log"}
    expect(not left, f"files outside the data directory: {left}")
    return took


def ask_over_stdio(command: list[str], env: dict[str, str], work: Path) -> float:
    """Search through MCP over standard input and output. Seconds until the first answer.

    Raises:
        StepError: there is no answer, or it has nothing of the samples.
    """
    started, first_answer_s = time.monotonic(), 0.0
    with (work / "mcp.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=env, cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert process.stdin is not None and process.stdout is not None
        answers: list[str] = []
        for message in mcp_messages():
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            if "id" in message:
                answers.append(process.stdout.readline())
                first_answer_s = first_answer_s or time.monotonic() - started
        process.communicate(timeout=STOP_S)
    expect("quay" in answers[-1], f"MCP over stdio: {answers}\n{(work / 'mcp.log').read_text()[-2000:]}")
    return first_answer_s


def mcp_messages() -> list[dict[str, Any]]:
    """What a client says to a server."""
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "smoke", "version": "1"}}
    call = {"name": "search_documents", "arguments": {"query": QUESTION}}
    return [
        {"id": 1, "method": "initialize", "params": start},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]


@contextmanager
def serving(program: Path, work: Path, env: dict[str, str]) -> Iterator[str]:
    """A server at a free port; its address. SIGTERM must end it within time, without a fault."""
    with (work / "serve.log").open("wb") as log:
        words = [str(program), "--data-dir", str(work / "served"), "serve", "--port", "0"]
        process = subprocess.Popen(words, env=env, cwd=work, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield _address(process, work)
        process.terminate()
        code = process.wait(STOP_S)
        expect(code == 0, f"serve ended with {code}:\n{(work / 'serve.log').read_text()[-2000:]}")
    finally:
        process.kill()


def _address(process: subprocess.Popen[bytes], work: Path) -> str:
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        for note in (work / "served").glob("server*.json"):
            return str(json.loads(note.read_text())["url"])
        time.sleep(POLL_S)
    raise StepError(f"serve does not start:\n{(work / 'serve.log').read_text()[-2000:]}")


def main(arguments: list[str]) -> None:
    """Leave the network, then try it."""
    if INSIDE not in arguments:
        rights = [] if os.geteuid() == 0 else ["--map-root-user"]
        words = ["unshare", *rights, "--net", sys.executable, *sys.argv, INSIDE]
        os.execvp(words[0], words)
    run("ip", "link", "set", "lo", "up")
    with tempfile.TemporaryDirectory(prefix="smoke-") as folder:
        try:
            took = smoke(Path(arguments[0]).absolute(), Path(folder))
        except StepError as error:
            sys.exit(str(error))
    for what, duration_s in took:
        print(f"  {what:28} {duration_s:6.2f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
