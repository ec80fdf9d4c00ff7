"""Where a backup is restored to: an empty place, filled in one step."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_knowledge.adapters.backup.workspace import Purpose, leftovers, workspace
from mcp_knowledge.adapters.durable import sync
from mcp_knowledge.errors import StartupError
from mcp_knowledge.settings import Settings

_PURPOSE: Purpose = "restore"
_OF_FILE_SYSTEM = "lost+found"  # in the root of a new volume
_PLACING = ".placing"  # in the working folder: names what is being moved out of it


class Target:
    """The data directory that a restore makes.

    It is worked on in a folder beside it, which takes its name in the end. A data directory that cannot be replaced,
    such as the volume of a container, is worked on inside, and the database is moved to its place last.

    Args:
        settings: in force.

    Raises:
        StartupError: it is not empty, or the settings lead to another place for the database.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.folder = settings.data_dir.resolve()
        self._database = _below(settings.database_path, self.folder)
        self._originals = _below(settings.blobs_path, self.folder)
        if self._database is None:
            raise StartupError(
                "A restore puts the database into DATA_DIR, and DATABASE_URL names another place. Unset it for the "
                "restore, and move the file afterwards."
            )
        exists = self.folder.exists()
        if exists and not self.folder.is_dir():
            raise StartupError(f"{self.folder} is no folder.")
        stays = os.path.ismount(self.folder) or (self.folder / _OF_FILE_SYSTEM).exists()
        self._inside = exists and (stays or not os.access(self.folder.parent, os.W_OK))
        self.refuse_content()

    @property
    def keeps_originals(self) -> bool:
        """Whether the originals belong into the data directory too."""
        return self._settings.storage_driver == "local" and self._originals is not None

    @contextmanager
    def working_folder(self) -> Iterator[Path]:
        """A folder for the content, on the same file system."""
        parent = self.folder if self._inside else self.folder.parent
        parent.mkdir(parents=True, exist_ok=True)
        with workspace(parent, self.folder.name, _PURPOSE) as folder:
            yield folder

    def settings_in(self, folder: Path) -> Settings:
        """The settings with which a working folder is a data directory."""
        assert self._database is not None
        changes: dict[str, object] = {"data_dir": folder, "database_url": f"file:{folder / self._database}"}
        if self.keeps_originals:
            assert self._originals is not None
            changes["storage_path"] = folder / self._originals
        elif self._settings.storage_driver == "local":
            changes["storage_path"] = self._settings.blobs_path.resolve()
        return self._settings.model_copy(update=changes)

    def refuse_content(self) -> None:
        """Nobody's data is overwritten.

        Raises:
            StartupError: the data directory is not empty.
        """
        if not self.folder.exists():
            return
        left = leftovers(self.folder, self.folder.name, _PURPOSE)
        for folder in left:
            self._take_back(folder)
        if self._content() - {*left}:
            raise StartupError(
                f"The data directory {self.folder} is not empty. Nothing was changed. "
                "Set DATA_DIR (or --data-dir) to a new folder."
            )

    def _content(self) -> set[Path]:
        return {entry for entry in self.folder.iterdir() if entry.name != _OF_FILE_SYSTEM}

    def fill(self, folder: Path) -> None:
        """Put a working folder's content in place.

        Raises:
            StartupError: there is something by now.
            OSError: it cannot be moved.
        """
        os.sync()  # of thousands of files at once it is much faster than of each
        if self.folder.exists():
            _hand_over(folder, self.folder.stat())
        if self._inside:
            self._fill_inside(folder)
            return
        if self.folder.exists():
            shutil.copymode(self.folder, folder)
        try:
            folder.rename(self.folder)  # an empty folder gives way, any other one does not
        except OSError:
            self.refuse_content()
            raise
        sync(self.folder.parent)

    def _fill_inside(self, folder: Path) -> None:
        assert self._database is not None
        last = self._database.parts[0]
        names = sorted((entry.name for entry in folder.iterdir()), key=lambda name: name == last)
        (folder / _PLACING).write_text(json.dumps(names))
        sync(folder)
        if self._content() != {folder}:
            raise StartupError(f"The data directory {self.folder} is not empty any more. Nothing was changed.")
        for name in names:
            (folder / name).rename(self.folder / name)
        sync(self.folder)

    def _take_back(self, folder: Path) -> None:
        """Remove what a killed restore had begun to move: it is whole only when its database has arrived."""
        assert self._database is not None
        with suppress(OSError, ValueError):
            names = json.loads((folder / _PLACING).read_text())
            if not (self.folder / self._database).exists():
                for name in names:
                    shutil.rmtree(self.folder / name, ignore_errors=True)


def _hand_over(folder: Path, owner: os.stat_result) -> None:
    """What root puts into another user's folder is to be that user's."""
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _below(path: Path, folder: Path) -> Path | None:
    """The way from a folder to a path below it."""
    path = path.resolve()
    return path.relative_to(folder) if path.is_relative_to(folder) and path != folder else None
