package io.gds4j.loader.save;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.StatxResult;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What one of several writers leaves for the one that commits: which tensors it has written to which files, their checksums, and
 * the parts of pages that it shares with others.
 *
 * @param layout digest of the layout, equal for all writers
 * @param identities the temporary files that it has written to
 * @param tensors the tensors that it has written
 */
record ShareFile(int world, long layout, List<Identity> identities, List<Tensor> tensors, List<Fragment> fragments) {

    private static final long MAGIC = 0x6764_7334_6a5f_0002L;

    /**
     * What tells a file from others that have its name later. An inode is used again when its file is gone.
     *
     * @param birth time of creation; 0 if the file system or the kernel does not tell it
     */
    record Identity(long inode, long birth) {
        static Identity of(StatxResult file) {
            return new Identity(file.inode(), file.birth());
        }

        boolean isSameAs(Identity other) {
            return inode == other.inode && (birth == 0 || other.birth == 0 || birth == other.birth);
        }
    }

    record Tensor(int file, int tensor, int crc) {
    }

    /** Bytes of a file. */
    @SuppressWarnings("ArrayRecordComponent")
    record Fragment(int file, long offset, byte[] bytes) {
        long end() {
            return offset + bytes.length;
        }
    }

    byte[] toBytes() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeLong(MAGIC);
            out.writeInt(world);
            out.writeLong(layout);
            out.writeInt(identities.size());
            for (Identity file : identities) {
                out.writeLong(file.inode);
                out.writeLong(file.birth);
            }
            out.writeInt(tensors.size());
            for (Tensor tensor : tensors) {
                out.writeInt(tensor.file);
                out.writeInt(tensor.tensor);
                out.writeInt(tensor.crc);
            }
            out.writeInt(fragments.size());
            for (Fragment fragment : fragments) {
                out.writeInt(fragment.file);
                out.writeLong(fragment.offset);
                out.writeInt(fragment.bytes.length);
                out.write(fragment.bytes);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /** @throws CuFileException INVALID_VALUE if the bytes are no share, or one of another plan */
    static ShareFile parse(Path path, byte[] bytes, int world, long layout, List<SaveFile> files) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            if (in.readLong() != MAGIC || in.readInt() != world || in.readLong() != layout) {
                throw broken(path, "another writer has other tensors, options or a different number of writers");
            }
            List<Identity> identities = new ArrayList<>();
            for (int left = checked(path, in.readInt(), files.size()); left > 0; left--) {
                identities.add(new Identity(in.readLong(), in.readLong()));
            }
            List<Tensor> tensors = new ArrayList<>();
            for (int left = checked(path, in.readInt(), bytes.length); left > 0; left--) {
                int file = checked(path, in.readInt(), files.size() - 1);
                int tensor = checked(path, in.readInt(), files.get(file).tensors().size() - 1);
                tensors.add(new Tensor(file, tensor, in.readInt()));
            }
            List<Fragment> fragments = new ArrayList<>();
            for (int left = checked(path, in.readInt(), bytes.length); left > 0; left--) {
                int file = checked(path, in.readInt(), files.size() - 1);
                long offset = in.readLong();
                int length = checked(path, in.readInt(), in.available());
                SaveFile of = files.get(file);
                if (offset < of.dataOffset() || offset > of.size() - length) {
                    throw broken(path, "it has bytes outside of the data");
                }
                fragments.add(new Fragment(file, offset, in.readNBytes(length)));
            }
            return new ShareFile(world, layout, identities, tensors, fragments);
        } catch (IOException e) {
            throw broken(path, "it ends too early");
        }
    }

    private static int checked(Path path, int value, int most) {
        if (value < 0 || value > most) {
            throw broken(path, "it has the number %s where at most %s is allowed".formatted(value, most));
        }
        return value;
    }

    private static CuFileException broken(Path path, String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, SaveFailure.FUNCTION, path,
                "the share of a writer is not usable: " + detail);
    }
}
