package io.gds4j.internal.trace;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Flight Recorder event of a write from memory to a file. */
@Name("gds4j.Write")
@Label("GPUDirect Storage Write")
@Description("A write from memory to a file (cuFileWrite)")
@Category({"gds4j"})
@StackTrace(false)
final class WriteEvent extends TransferEvent {
}
