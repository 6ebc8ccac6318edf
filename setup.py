"""The compiled kernels; all else about the package is in pyproject.toml.

Without a C compiler the build goes on, and the package runs on NumPy alone, which it
says at run time.
"""

import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).parent
SOURCES = Path("src", "heterolda", "kernels", "c")


class BuildKernels(build_ext):
    """Compile with full optimisation that changes no result."""

    def build_extensions(self) -> None:
        """Choose the options of the compiler that is there."""
        options = ["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno"]
        if self.compiler.compiler_type == "msvc":
            options = ["/std:c11", "/O2", "/fp:precise"]
        for extension in self.extensions:
            extension.extra_compile_args = options
        super().build_extensions()


kernels = Extension(
    "heterolda.kernels._compiled",
    sources=sorted(str(path.relative_to(HERE)) for path in HERE.glob(f"{SOURCES}/*.c")),
    depends=sorted(str(path.relative_to(HERE)) for path in HERE.glob(f"{SOURCES}/*.h")),
    py_limited_api=True,
    optional=True,
)
# A wheel for every machine, for where none was compiled.
pure = os.environ.get("HETEROLDA_PURE") == "1"
setup(
    ext_modules=[] if pure else [kernels],
    cmdclass={"build_ext": BuildKernels},
    options={} if pure else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
