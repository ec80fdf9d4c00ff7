"""What must not be in an image, looked for in the files that it adds to its base."""

import stat
import subprocess
from pathlib import Path

from steps import run

from image_proof.building import Image
from image_proof.linux import within

COMPILERS = ("gcc", "cc", "g++", "c++", "clang", "ld", "as", "make", "cargo", "rustc", "cmake", "ninja")
INSTALLERS = ("pip", "pip3", "uv", "conda", "easy_install")
# Bits of what is installed that nobody runs.
REMAINS = ("*.whl", "*.tar.gz", "*.o", "*.orig", "*.log", ".git*", "CACHEDIR.TAG", "node_modules")
CACHES = ("root/.cache", "var/cache/apt/archives/*.deb", "var/lib/apt/lists/*", "tmp/*", "var/tmp/*", "build")
MIB = 1 << 20


def faults(image: Image) -> list[str]:
    """A sentence for everything that has no place there."""
    own = [path for path in image.own.rglob("*") if not path.is_symlink()]
    return [
        *(f"{_name(image, path)}: belongs to nobody who should have it" for path in own if _foreign(image, path)),
        *(f"{_name(image, path)}: anybody may write it" for path in own if _open_to_all(path)),
        *(f"{_name(image, path)}: runs as another user" for path in own if _changes_user(path)),
        *(f"{_name(image, path)}: differs at every build" for path in own if _tells_times(path)),
        *(f"{_name(image, path)}: left over" for pattern in REMAINS for path in image.own.rglob(pattern)),
        *(f"/{path.relative_to(image.root)}: a cache" for name in CACHES for path in image.root.glob(name)),
        *(f"{program}: a compiler" for program in COMPILERS if _found(image, program)),
        *(f"{program}: installs packages" for program in INSTALLERS if _found(image, program)),
        *(f"python -m {module} works" for module in ("pip", "setuptools") if _imports(image, module)),
    ]


def sizes(image: Image) -> list[tuple[str, float]]:
    """What the image adds, in MiB: all, and its ten largest packages."""
    (packages,) = within(image.root, "/app/lib").glob("python*/site-packages")
    each = {path.name: _mib(path) for path in packages.iterdir() if path.is_dir()}
    largest = sorted(each.items(), key=lambda item: -item[1])[:10]
    return [("all that it adds to its base", _mib(image.own)), *largest]


def _mib(path: Path) -> float:
    return int(run("du", "--summarize", "--block-size=1", path).split()[0]) / MIB


def _name(image: Image, path: Path) -> str:
    return f"/{path.relative_to(image.own)}"


def _foreign(image: Image, path: Path) -> bool:
    expected = 10001 if path.is_relative_to(within(image.own, "/data")) else 0
    return not stat.S_ISCHR(path.stat().st_mode) and path.stat().st_uid != expected


def _open_to_all(path: Path) -> bool:
    """Whether anybody may write it, but for a folder like /tmp, where everybody owns what they made."""
    mode = path.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX and not stat.S_ISCHR(mode)


def _changes_user(path: Path) -> bool:
    return bool(path.is_file() and path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID))


def _tells_times(path: Path) -> bool:
    """Whether this is bytecode that knows the time of its source, and not a hash (PEP 552)."""
    if path.suffix != ".pyc":
        return False
    with path.open("rb") as file:
        return not file.read(8)[4] & 1


def _found(image: Image, program: str) -> bool:
    return any(within(image.root, f"{folder}/{program}").exists() for folder in image.config.env["PATH"].split(":"))


def _imports(image: Image, module: str) -> bool:
    words = ["/usr/sbin/chroot", str(image.root), "/usr/bin/env", f"PATH={image.config.env['PATH']}"]
    return subprocess.run([*words, "python", "-c", f"import {module}"], capture_output=True).returncode == 0
