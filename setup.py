"""What pyproject.toml cannot say: kernels and equal archives.

Without a C compiler the build goes on, and the package runs on NumPy alone, which it
says at run time. Environment variables: HETEROLDA_PURE=1 builds no kernels, for a wheel
that suits every machine; HETEROLDA_SANITIZE=1 builds them for `make sanitize`; with the
same SOURCE_DATE_EPOCH the same sources give the same wheel and sdist, byte by byte.
"""

import gzip
import os
import re
import sysconfig
import tarfile
import time
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = Path(__file__).parent
SOURCES = Path("src", "heterolda", "kernels", "c")

PURE = os.environ.get("HETEROLDA_PURE") == "1"
SANITIZE = os.environ.get("HETEROLDA_SANITIZE") == "1"
# One binary for Python 3.11 and all later ones, but for those without a global lock.
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")


class BuildKernels(build_ext):
    """Compile with full optimization that changes no result."""

    def build_extensions(self) -> None:
        """Choose the options of the compiler that is there."""
        options = ["-std=c11", "-g0", "-O3", "-fvisibility=hidden", "-Wno-psabi"]
        options += ["-ffp-contract=off", "-fno-math-errno"]
        if self.compiler.compiler_type == "msvc":
            options = ["/std:c11", "/O2", "/fp:precise", "/Brepro"]
        link = ["/Brepro"] if self.compiler.compiler_type == "msvc" else []
        if SANITIZE:
            link = ["-fsanitize=address,undefined,float-cast-overflow"]
            link += ["-fno-sanitize-recover=all"]
            options += [*link, "-g", "-O0", "-fno-wrapv", "-DHETEROLDA_PLAIN"]
        for extension in self.extensions:
            extension.extra_compile_args = options
            extension.extra_link_args = link
        super().build_extensions()


class BuildWheel(bdist_wheel):
    """Let no umask decide the modes of files."""

    def write_wheelfile(self, folder: str, *rest: str) -> None:
        """Finish the tree that becomes the wheel."""
        super().write_wheelfile(folder, *rest)
        for path in Path(self.bdist_dir).rglob("*"):
            path.chmod(0o755 if path.is_dir() or path.suffix == ".so" else 0o644)


class BuildSources(sdist):
    """Write an archive that depends on the files alone, and on SOURCE_DATE_EPOCH."""

    def make_archive(self, base_name, format, *rest, base_dir, **options):
        """Write the archive and return its name."""
        if format != "gztar":
            return super().make_archive(
                base_name, format, *rest, base_dir=base_dir, **options
            )
        date = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))

        def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
            entry.mtime, entry.uid, entry.gid = date, 0, 0
            entry.uname = entry.gname = ""
            entry.mode = 0o755 if entry.isdir() else 0o644
            return entry

        name = f"{base_name}.tar.gz"
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        with (
            open(name, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=date) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            archive.add(base_dir, filter=plain)
        return name


def readme() -> str:
    """Return README.md with links that also work on the page of a package index."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
    source, tag = project["urls"]["Source"], f"v{project['version']}"
    text = (HERE / "README.md").read_text("utf-8")
    text = re.sub(r"(!\[[^]]*\]\()(?![a-z]+:)", rf"\g<1>{source}/raw/{tag}/", text)
    return re.sub(r"(\]\()(?![a-z]+:|#)", rf"\g<1>{source}/blob/{tag}/", text)


kernels = Extension(
    "heterolda.kernels._compiled",
    sources=sorted(str(path.relative_to(HERE)) for path in HERE.glob(f"{SOURCES}/*.c")),
    depends=sorted(str(path.relative_to(HERE)) for path in HERE.glob(f"{SOURCES}/*.h")),
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
    py_limited_api=LIMITED,
    optional=not SANITIZE,
)
setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    ext_modules=[] if PURE else [kernels],
    cmdclass={
        "build_ext": BuildKernels,
        "bdist_wheel": BuildWheel,
        "sdist": BuildSources,
    },
    options={"bdist_wheel": {"py_limited_api": "cp311"}}
    if LIMITED and not PURE
    else {},
)
