/**
 * cufile.json, its keys and parameters, and the one immutable {@link io.gds4j.config.CuFileConfig} that comes of the API,
 * the environment, the file and the defaults.
 */
@NullMarked
package io.gds4j.config;

import org.jspecify.annotations.NullMarked;
