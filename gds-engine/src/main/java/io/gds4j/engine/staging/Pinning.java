package io.gds4j.engine.staging;

/** Pins memory for GPUs. */
interface Pinning {
    /** Pins nothing, for a process without a GPU. */
    Pinning NONE = new Pinning() {
        @Override
        public Pinned pin(long address, long size) {
            return Pinned.REFUSED;
        }

        @Override
        public void unpin(long address) {
            // pin() pins nothing
        }
    };

    /** What became of an attempt to pin memory. A refusal is not a failure: copies are slower then. */
    enum Pinned {
        PINNED,
        REFUSED,
        /** The program captures a graph, and the driver cannot be told that this call is not meant. */
        NOT_NOW
    }

    Pinned pin(long address, long size);

    void unpin(long address);
}
