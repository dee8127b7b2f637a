package io.gds4j.internal.trace;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Flight Recorder event of a read from a file into memory. */
@Name("gds4j.Read")
@Label("GPUDirect Storage Read")
@Description("A read from a file into memory (cuFileRead)")
@Category({"gds4j"})
@StackTrace(false)
final class ReadEvent extends TransferEvent {
}
