/**
 * The Spark data source {@code gds-checkpoint}: the tensors of a checkpoint as the rows of a table. Spark calls it by that name. It reads
 * headers only, on the driver, and needs neither the plugin nor executors.
 */
@NullMarked
package io.gds4j.spark.catalogue;

import org.jspecify.annotations.NullMarked;
