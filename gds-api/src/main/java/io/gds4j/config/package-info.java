/**
 * The configuration of cuFile: keys and parameters of cufile.json, and {@link io.gds4j.config.CuFileConfig}, which combines the
 * program's values, the environment, the file and the defaults.
 */
@NullMarked
package io.gds4j.config;

import org.jspecify.annotations.NullMarked;

// Tested by
//   ConfigFileErrorsTest: Constraint, JsonConfigReader
//   PrecedenceTest: ConfigSources, ConfigValue
