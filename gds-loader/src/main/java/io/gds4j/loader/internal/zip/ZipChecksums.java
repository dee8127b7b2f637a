package io.gds4j.loader.internal.zip;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.internal.zip.ZipArchive.Member;
import java.nio.ByteBuffer;
import java.util.NavigableSet;
import java.util.zip.CRC32;

/** Compares the bytes of members with the CRC-32 in their entries. */
public final class ZipChecksums {
    private ZipChecksums() {
    }

    /**
     * Reads the members that are stored as they are and hold tensors.
     *
     * @param tensors offsets of tensors in the file
     * @param buffer memory that the reads pass through
     * @throws CheckpointException {@link ZipRules#CHECKSUM} for the first member that differs; as {@link ZipArchive#read}
     */
    public static void check(FormatInput in, NavigableSet<Long> tensors, ByteBuffer buffer) {
        for (Member member : ZipArchive.read(in).members()) {
            Long tensor = tensors.ceiling(member.dataOffset());
            if (!member.stored() || tensor == null || tensor >= member.dataEnd()) {
                continue;
            }
            CRC32 crc = new CRC32();
            for (long at = member.dataOffset(); at < member.dataEnd();) {
                buffer.clear().limit((int) Math.min(buffer.capacity(), member.dataEnd() - at));
                in.read(at, buffer);
                at += buffer.position();
                crc.update(buffer.flip());
            }
            if ((int) crc.getValue() != member.crc()) {
                throw CheckpointException.of(
                        ZipRules.CHECKSUM,
                        in.path(),
                        member.dataOffset(),
                        "the bytes of member %s have the CRC-32 %08x, its entry says %08x".formatted(
                                CheckpointException.quote(member.name()), (int) crc.getValue(), member.crc()));
            }
        }
    }
}
