/** A program that loads a checkpoint by Spark, to be submitted to a cluster and to be copied. */
@NullMarked
package io.gds4j.spark.example;

import org.jspecify.annotations.NullMarked;
