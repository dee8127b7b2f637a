package io.gds4j.remote;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/** Sends one part of an upload. */
interface PartSender<T> {
    T send(int number, MemorySegment bytes) throws IOException;
}
