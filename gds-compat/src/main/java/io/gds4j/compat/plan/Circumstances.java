package io.gds4j.compat.plan;

/**
 * What decides how a request is served.
 *
 * @param limits what configuration and machine allow
 * @param bytes bytes of the request
 * @param operation bytes of the operation that the request is a part of; {@code bytes} if it is whole
 * @param write true if the bytes go to the file
 * @param staged true if the bytes pass through slabs
 * @param gathers true if a kernel could copy all pieces
 * @param cached true if the bytes are in the page cache, or go there
 * @param direct true if the bytes bypass the page cache, except those that are in it
 * @param requests number of requests at work with the same workers, including this one
 * @param gpus number of GPUs at work
 * @param slab bytes of the largest slab, a power of two
 * @param systemCall largest number of bytes of a request to the kernel, a power of two
 */
record Circumstances(
        Parallelism limits,
        long bytes,
        long operation,
        boolean write,
        boolean staged,
        boolean gathers,
        boolean cached,
        boolean direct,
        int requests,
        int gpus,
        long slab,
        long systemCall) {

    /** Returns whether threads would wait for each other: the kernel lets one at a time write to a file's page cache. */
    boolean takesTurns() {
        return write && !direct;
    }
}
