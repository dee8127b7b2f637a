package io.gds4j.loader.internal.zip;

/**
 * A member of a zip file.
 *
 * @param name name in the archive, with {@code /} between folders
 * @param entryOffset offset of the entry in the central directory
 * @param headerOffset offset of the local header in the file
 * @param dataOffset offset of the first byte of the member's data
 * @param storedBytes bytes of the data in the file
 * @param bytes bytes of the data after decompression
 * @param method compression method; 0 means that the data is stored as it is
 * @param crc CRC-32 of the data after decompression
 */
public record ZipMember(
        String name, long entryOffset, long headerOffset, long dataOffset, long storedBytes, long bytes, int method,
        int crc) {

    /** Compression method of members that are stored as they are. */
    static final int STORED = 0;

    /** Returns the offset after the last byte of data in the file. */
    public long dataEnd() {
        return dataOffset + storedBytes;
    }

    /** Returns whether the bytes in the file are the member's content. */
    public boolean stored() {
        return method == STORED;
    }
}
