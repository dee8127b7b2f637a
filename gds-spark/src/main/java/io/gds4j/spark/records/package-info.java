/**
 * Data sets on the executors of a Spark application: each partition is a {@link io.gds4j.dataset.RecordLoader} with its share of an
 * epoch. Programs call it.
 */
@NullMarked
package io.gds4j.spark.records;

import org.jspecify.annotations.NullMarked;
