"""The layers: imports run one way, extras stay out, files stay small."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import heterolda

PACKAGE = Path(heterolda.__file__).parent

# From the ground up: a module imports only from those before it.
LAYERS = [
    "_sklearn",
    "process_wide",
    "lazy",
    "wording",
    "exceptions",
    "files",
    "roots",
    "validation",
    "moments",
    "statistics",
    "chunks",
    "_blocks",
    "_kernels",
    "refine",
    "passes",
    "parts",
    "quotes",
    "text_files",
    "standard_input",
    "arrow",
    "batches",
    "streaming",
    "labelled_data",
    "out_of_core",
    "dask_chunks",
    "distributed",
    "shrinkage",
    "pencil",
    "arc",
    "hyperplanes",
    "solvers.fisher",
    "solvers.fixed_point",
    "solvers.trials",
    "solvers.grid",
    "solvers.random_search",
    "solvers.pieces",
    "solvers.global_search",
    "solvers",
    "operating_points",
    "criteria",
    "frontier",
    "heteroscedasticity",
    "posterior",
    "votes",
    "prediction",
    "tradeoff",
    "discriminant",
    "exact",
    "lbfgs",
    "smooth",
    "selection",
    "calibration",
    "starts",
    "pair_search",
    "progress",
    "smooth_pairs",
    "smooth_search",
    "distant",
    "search_steps",
    "local_search",
    "recipes",
    "export.json_file",
    "export.fields",
    "export.parameters",
    "export.rules",
    "export.models",
    "export.model_file",
    "export.fitted",
    "export.onnx_graph",
    "export.onnx",
    "export.c_text",
    "export.c_code",
    "export.fixed_point",
    "export.c_source",
    "export.c",
    "export",
    "scoring",
    "evaluation",
    "cross_validation",
    "table_files",
    "prediction_files",
    "model_facts",
    "summary",
    "inspection",
    "fitting",
    "displays",
    "displays.base",
    "displays.error_curve",
    "displays.frontier_curve",
    "displays.projection",
    "displays.boundary",
    "model_card",
    "experiments",
    "experiments.catalogue",
    "experiments.datasets",
    "experiments.methods",
    "experiments.records",
    "experiments.folder",
    "experiments.workers",
    "experiments.protocol",
    "experiments.paper",
    "experiments.results",
    "experiments.formats",
    "experiments.tables",
    "experiments.ranks",
    "experiments.pairs",
    "experiments.svg",
    "experiments.figures",
    "experiments.report",
    "terminal",
    "commands.shared",
    "commands.values",
    "commands.fit_options",
    "commands.group",
    "commands.study",
    "commands.fitting",
    "commands.predicting",
    "commands.evaluating",
    "commands.inspecting",
    "commands.exporting",
    "commands",
    "cli",
]


def module_name(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in PACKAGE.rglob("*.py")}


def imports(path):
    """Names of the modules that a file imports, at any depth of its code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module
            for alias in node.names:  # from heterolda import statistics
                yield f"{node.module}.{alias.name}"


def test_every_module_has_its_layer():
    assert set(MODULES) - {""} == set(LAYERS)


@pytest.mark.parametrize("name", LAYERS)
def test_imports_run_one_way(name):
    for imported in imports(MODULES[name]):
        assert imported != "heterolda", f"{name} imports from the package itself"
        if imported.startswith("heterolda."):
            target = imported.removeprefix("heterolda.")
            if target in MODULES:
                assert LAYERS.index(target) < LAYERS.index(name), (
                    f"{name} imports {target}, which lies above it"
                )


def test_private_parts_of_sklearn_are_imported_in_one_file():
    for name, path in MODULES.items():
        if name == "_sklearn":
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
    extras |= {"skl2onnx", "onnxruntime", "numba", "polars"}
    # scikit-learn itself may load pandas, and pandas pyarrow, where they are installed.
    ours = loaded_by("import heterolda")
    assert "heterolda" in ours
    assert not (ours - loaded_by("import sklearn.discriminant_analysis")) & extras


def test_files_and_functions_stay_small():
    for name, path in MODULES.items():
        source = path.read_text(encoding="utf-8")
        assert len(source.splitlines()) <= 425, f"{name} has two jobs"
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                doc = ast.get_docstring(node, clean=False) or ""
                length = node.end_lineno - node.lineno - doc.count("\n")
                assert length <= 75, f"{name}.{node.name} has two jobs"


def test_every_public_name_is_documented_and_exported():
    for name in heterolda.__all__:
        assert getattr(heterolda, name).__doc__
    assert list(heterolda.__all__) == sorted(heterolda.__all__)
