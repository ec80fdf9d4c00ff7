import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent


def test_the_generated_parts_of_the_docs_are_fresh() -> None:
    result = subprocess.run(
        [sys.executable, "scripts/docs.py", "--check"], cwd=PROJECT, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_link_to_a_file_in_the_docs_leads_somewhere() -> None:
    import re

    for page in [PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
