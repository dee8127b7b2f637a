package io.gds4j.loader.faults;

import io.gds4j.memory.MemoryKind;

/**
 * A public operation in one of its forms.
 *
 * @param name column of the table
 * @param form memory and kind of I/O
 * @param io how its files are read and written
 * @param body makes what the operation needs, attempts it twice, and checks bytes and counts
 */
record Operation(String name, String form, Io io, Body body) {
    /** Kinds of I/O. */
    enum Io {
        BUFFERED,
        /** Past the page cache, unless it holds the bytes. */
        CACHED,
        DIRECT
    }

    /** The body of an operation. */
    interface Body {
        void run(Stage stage) throws Exception;
    }

    /** The body of an operation over one kind of memory. */
    interface KindBody {
        void run(Stage stage, MemoryKind kind) throws Exception;
    }

    static Operation of(String name, MemoryKind kind, Io io, KindBody body) {
        return new Operation(name, kind + " " + io, io, stage -> body.run(stage, kind));
    }

    @Override
    public String toString() {
        return name + " " + form;
    }
}
