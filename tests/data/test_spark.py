"""The recipe for Spark runs, where Spark and Java are installed."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.shapes import Shape, gaussian_classes
from heterolda import ClassStatistics

SCRIPT = Path(__file__).parents[2] / "examples" / "spark_statistics.py"

if importlib.util.find_spec("pyspark") is None:
    pytest.skip(
        "pyspark is not installed: it is large, and no extra installs it",
        allow_module_level=True,
    )
if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)

# pyspark and what it starts warn of things of their own.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    environment = pytest.MonkeyPatch()
    environment.setenv("PYSPARK_PYTHON", sys.executable)  # of the workers
    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
    environment.undo()


@pytest.fixture
def recipe():
    spec = importlib.util.spec_from_file_location("spark_statistics", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_recipe_gives_the_statistics_of_memory(spark, recipe, tmp_path, capsys):
    X, y = gaussian_classes(Shape(900, 3, 4))
    X = X + 1e3
    labels = np.array(["north", "south", "east", "west"])[y]
    labels[:5] = "few"  # a label of one partition only
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=labels)
    for k in range(4):
        frame[225 * k : 225 * k + 225].to_parquet(tmp_path / f"{k}.parquet")
    lazy = spark.read.parquet(str(tmp_path)).filter("a < 1e9")
    empty = lazy.filter("a < 0")
    expected = ClassStatistics.from_data(X, labels)
    for source in (lazy.union(empty), lazy.repartition(3)):
        stats = recipe.statistics_on_spark(source, "kind")
        assert_array_equal(stats.classes, expected.classes)
        assert stats.feature_names.tolist() == ["a", "b", "c"]
        for name in ("weights", "means", "scatters"):
            mine, other = getattr(stats, name), getattr(expected, name)
            assert_allclose(mine, other, rtol=1e-10, atol=1e-10 * np.abs(other).max())
    wrong = lazy.withColumn("b", lazy["kind"])
    with pytest.raises(Exception, match="column 'b' must be numbers"):
        recipe.statistics_on_spark(wrong, "kind")
    recipe.main(str(tmp_path), "kind")
    assert "n_classes=5, n_features=3" in capsys.readouterr().out


def test_the_script_says_how_to_call_it():
    wrong = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True)
    assert wrong.returncode == 1
    assert "usage" in wrong.stderr
