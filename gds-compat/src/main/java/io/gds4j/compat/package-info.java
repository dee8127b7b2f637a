/**
 * The POSIX backend: serves cuFile on any file system, with or without a GPU. This package wires the others together and answers
 * the cuFile functions. Only the provider is public API: programs use {@code io.gds4j}.
 */
@NullMarked
package io.gds4j.compat;

import org.jspecify.annotations.NullMarked;

// Tested by
//   HostContractTest: CompatControls, CompatParameters, CompatSession
//   CudaStreamTest: CompatStreams
//   SessionLogTest: LogFile
