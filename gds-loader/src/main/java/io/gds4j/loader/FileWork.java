package io.gds4j.loader;

/** A unit of work of a load, with the tensors that it brings closer to their end. */
interface FileWork {
    /** Index of the file. */
    int file();

    /** Number of tensors of which it brings bytes. */
    int tensorCount();

    /** The tensor with index {@code i} among them, as an index into the tensors of the layout. */
    int tensor(int i);

    /** Bytes that it brings to memory. */
    long tensorBytes();
}
