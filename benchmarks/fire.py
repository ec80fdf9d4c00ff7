"""What becomes of 2,000 documents while everything breaks: 4 workers and 2 API processes on one PostgreSQL and one S3
server, workers killed with `kill -9` every few seconds, an API process killed in the middle of uploads, PostgreSQL
crashed and restarted, S3 refusing connections for 10 seconds.

    python benchmarks/fire.py [--documents 2000] [--s3-away 10]

Every document has three marked parts; some are revised, some deleted, and an archive is imported beside them. Two
searchers look for documents all the time and must see all parts of one version, or none. At the end everything is
counted: what is lost, doubled or left over ends the run. The servers are those of the test environment.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "tests"))
sys.path.append(str(Path(__file__).parent.parent / "tests" / "fire"))
from fire_story import Story, tell  # the same story as the test's

_LETTERS = 400
_KILL_PAUSES_S = (2.0, 8.0)


def table(story: Story) -> list[tuple[str, object]]:
    """The lines to print."""
    return [
        ("documents uploaded", story.documents),
        ("revised meanwhile", story.revised),
        ("deleted meanwhile", story.deleted),
        ("processes killed", story.kills),
        ("a worker killed in the middle of an import", story.killed_mid_archive),
        ("a worker killed in the middle of a delete", story.killed_mid_delete),
        ("lost, doubled, failed or left over", 0),
        ("answers with a whole document", story.seen_whole),
        ("answers without it", story.seen_none),
        ("answers with a part of it", len(story.half_seen)),
        ("unexpected errors in the logs", len(story.surprises)),
        ("files left for the hourly sweep", story.orphans),
        *((f"seconds until {what}", round(seconds)) for what, seconds in story.moments.items()),
    ]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--s3-away", type=float, default=10.0, metavar="SECONDS")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        story = tell(Path(temporary), arguments.documents, _LETTERS, arguments.s3_away, _KILL_PAUSES_S)
    for what, value in table(story):
        print(f"{what:<45} {value}")
    for line in (*story.half_seen[:5], *story.surprises[:5]):
        print(line)


if __name__ == "__main__":
    main()
