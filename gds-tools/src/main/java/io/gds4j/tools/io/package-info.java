/** {@code gds io}: measures transfers between storage and memory, with the options and terms of gdsio. */
@NullMarked
package io.gds4j.tools.io;

import org.jspecify.annotations.NullMarked;

// Tested by
//   IoCommandTest: IoJob, JobResult, IoRun, JobFile, JobRig, PlainFile, Round, Worker
