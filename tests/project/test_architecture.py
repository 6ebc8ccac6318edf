"""The layers: imports run one way, extras stay out, files stay small."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import heterolda

PACKAGE = Path(heterolda.__file__).parent
PUBLIC = Path(__file__).parent / "public_names.txt"
REFERENCE = Path(__file__).parents[2] / "docs/api/index.md"

# From the ground up: a folder imports only from those before it, and from itself.
FOLDERS = [
    "exceptions",
    "foundations",
    "kernels",
    "statistics",
    "solvers",
    "subspaces",
    "tradeoff",
    "search",
    "estimators",
    "data",
    "inspection",
    "export",
    "experiments",
    "cli",
    "__main__",
]


def module_name(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in PACKAGE.rglob("*.py")}


@cache
def imports(path):
    """Names of the modules that a file imports, at any depth of its code."""
    return list(imported(path))


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module
            for alias in node.names:  # from heterolda import statistics
                yield f"{node.module}.{alias.name}"


def folder(module):
    """The first part of the path of a module, below the package."""
    return module.partition(".")[0]


def ours(path):
    """The modules of the package that a file imports; the longest names only."""
    actual = {name.removeprefix("heterolda.") for name in imports(path)}
    return actual & set(MODULES)


def test_every_folder_has_its_place():
    assert {folder(name) for name in MODULES} - {""} == set(FOLDERS)
    assert len(list(PACKAGE.glob("[!_]*"))) <= 15


def test_imports_run_one_way():
    for name, path in MODULES.items():
        if name:
            assert "heterolda" not in imports(path), f"{name} imports the package"
            for target in ours(path):
                assert FOLDERS.index(folder(target)) <= FOLDERS.index(folder(name)), (
                    f"{name} imports {target}, which lies above it"
                )


def test_no_file_imports_itself_round_a_corner():
    def reach(name, path):
        for target in sorted(ours(MODULES[name]) - {name}):
            assert target not in path, f"a circle: {' -> '.join([*path, target])}"
            if target not in seen:
                reach(target, [*path, target])
        seen.add(name)

    seen = set()
    for name in MODULES:
        if name:
            reach(name, [name])


def test_private_parts_of_sklearn_are_imported_in_one_file():
    for name, path in MODULES.items():
        if name == "foundations.sklearn_private":
            continue
        for imported in imports(path):
            parts = imported.split(".")
            private = parts[0] == "sklearn" and any(
                p.startswith("_") for p in parts[1:]
            )
            assert not private, f"{name} imports {imported}"


def loaded_by(statement):
    code = f"{statement}; import sys; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in run.stdout.split()}


def test_import_pulls_in_no_extra():
    extras = {"dask", "distributed", "pyarrow", "matplotlib", "typer", "rich"}
    extras |= {"skl2onnx", "onnxruntime", "polars"}
    # scikit-learn itself may load pandas, and pandas pyarrow, where they are installed.
    ours = loaded_by("import heterolda")
    assert "heterolda" in ours
    assert not (ours - loaded_by("import sklearn.discriminant_analysis")) & extras


def code_lines(tree, source):
    """Numbers of the lines with code: no blank ones, comments or docstrings."""
    lines = {
        k
        for k, line in enumerate(source.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            doc = node.body and node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                lines -= set(range(doc.lineno, doc.end_lineno + 1))
    return lines


def test_files_and_functions_stay_small():
    for name, path in MODULES.items():
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        lines = code_lines(tree, source)
        assert len(lines) <= 350, f"{name} has two jobs"
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                body = lines & set(range(node.lineno, node.end_lineno + 1))
                assert len(body) <= 75, f"{name}.{node.name} has two jobs"


def test_the_package_shows_public_names_only():
    assert set(dir(heterolda)) == {*heterolda.__all__, "__version__"}
    assert len(heterolda.__all__) <= 15
    # A change of a name is to be seen in the list.
    names = {f"heterolda.{name}" for name in heterolda.__all__}
    for place in ("inspection", "solvers", "exceptions", "data", "experiments"):
        module = import_module(f"heterolda.{place}")
        names |= {f"heterolda.{place}.{name}" for name in module.__all__}
        assert all(hasattr(module, name) for name in module.__all__)
    assert sorted(names) == PUBLIC.read_text(encoding="utf-8").split()
    reference = REFERENCE.read_text(encoding="utf-8").split("currentmodule:: ")[1:]
    shown = {
        f"{place.split()[0]}.{name}"
        for place in reference
        for name in re.findall(r"^   (\w+)$", place, re.MULTILINE)
    }
    assert shown == names
