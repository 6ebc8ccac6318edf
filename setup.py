"""The compiled kernels; all else about the package is in pyproject.toml.

Without a C compiler the build goes on, and the package runs on NumPy alone, which it
says at run time. Environment variables: HETEROLDA_PURE=1 builds no kernels, for a wheel
that suits every machine; HETEROLDA_SANITIZE=1 builds them for `make sanitize`.
"""

import os
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).parent
SOURCES = Path("src", "heterolda", "kernels", "c")

PURE = os.environ.get("HETEROLDA_PURE") == "1"
SANITIZE = os.environ.get("HETEROLDA_SANITIZE") == "1"
# One binary for Python 3.11 and all later ones, but for those without a global lock.
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")


class BuildKernels(build_ext):
    """Compile with full optimisation that changes no result."""

    def build_extensions(self) -> None:
        """Choose the options of the compiler that is there."""
        options = ["-std=c11", "-g0", "-O3", "-fvisibility=hidden", "-Wno-psabi"]
        options += ["-ffp-contract=off", "-fno-math-errno"]
        if self.compiler.compiler_type == "msvc":
            options = ["/std:c11", "/O2", "/fp:precise"]
        link = []
        if SANITIZE:
            link = ["-fsanitize=address,undefined,float-cast-overflow"]
            link += ["-fno-sanitize-recover=all"]
            options += [*link, "-g", "-O1", "-fno-omit-frame-pointer", "-fno-wrapv"]
            options += ["-DHETEROLDA_PLAIN"]
        for extension in self.extensions:
            extension.extra_compile_args = options
            extension.extra_link_args = link
        super().build_extensions()


kernels = Extension(
    "heterolda.kernels._compiled",
    sources=sorted(str(path.relative_to(HERE)) for path in HERE.glob(f"{SOURCES}/*.c")),
    depends=sorted(str(path.relative_to(HERE)) for path in HERE.glob(f"{SOURCES}/*.h")),
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
    py_limited_api=LIMITED,
    optional=not SANITIZE,
)
setup(
    ext_modules=[] if PURE else [kernels],
    cmdclass={"build_ext": BuildKernels},
    options={"bdist_wheel": {"py_limited_api": "cp311"}}
    if LIMITED and not PURE
    else {},
)
