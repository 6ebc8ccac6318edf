"""Class statistics on Spark: one small table leaves each partition, no row does.

python examples/spark_statistics.py data.parquet kind
"""

import io
import sys
from itertools import chain

import pyarrow as pa
from pyspark.sql import SparkSession

from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.data import statistics_from_batches


def statistics_on_spark(frame, target):
    """Class statistics of a Spark data frame of numbers and a target."""

    def of_partition(batches):
        batches = (batch for batch in batches if batch.num_rows)
        first = next(batches, None)
        if first is not None:
            file = io.BytesIO()
            statistics_from_batches(chain([first], batches), target).save(file)
            yield pa.record_batch({"statistics": [file.getvalue()]})

    parts = frame.mapInArrow(of_partition, "statistics binary").collect()
    return sum(ClassStatistics.load(io.BytesIO(part.statistics)) for part in parts)


def main(path, target):
    spark = SparkSession.builder.getOrCreate()
    statistics = statistics_on_spark(spark.read.parquet(path), target)
    model = GaussianLinearDiscriminant().fit_statistics(statistics)
    print(statistics)
    print("errors of the pairs:", model.bayes_error_)
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python examples/spark_statistics.py DATA TARGET")
    main(*sys.argv[1:])
