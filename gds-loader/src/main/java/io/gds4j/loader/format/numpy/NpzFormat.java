package io.gds4j.loader.format.numpy;

import io.gds4j.internal.text.InertText;
import io.gds4j.internal.text.NpyGrammar;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.zip.ZipArchive;
import io.gds4j.loader.internal.zip.ZipArchive.Member;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Archives of {@code numpy.savez}: arrays by the names of the members without {@code .npy}. Archives of
 * {@code numpy.savez_compressed} are known and not read; members that are no arrays are left out with a warning. Fortran order is reported as for {@link NpyFormat}.
 *
 * @since 0.1
 */
public final class NpzFormat implements CheckpointFormat {
    /** Creates the format; {@link java.util.ServiceLoader} calls this. */
    public NpzFormat() {
        // without state
    }

    @Override
    public String id() {
        return "npz";
    }

    @Override
    public List<String> suffixes() {
        return List.of(".npz");
    }

    @Override
    public Recognition recognize(FileHead head) {
        boolean arrays = ZipArchive.names(head).stream().anyMatch(name -> name.endsWith(NpyFormat.SUFFIX));
        return arrays ? Recognition.RECOGNIZED : Recognition.UNRECOGNIZED;
    }

    @Override
    public boolean describesFiles(String key) {
        return key.endsWith(NpyFormat.FORTRAN_ORDER);
    }

    @Override
    public CheckpointFile read(FormatInput in) {
        List<TensorInfo> arrays = new ArrayList<>();
        List<String> others = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (Member member : ZipArchive.read(in).members()) {
            if (!isArray(in, member)) {
                if (!member.name().endsWith("/")) {
                    others.add(CheckpointException.quote(member.name()));
                }
                continue;
            }
            if (!member.stored()) {
                throw CheckpointException.of(
                        CheckpointRule.UNSUPPORTED_FORMAT,
                        in.path(),
                        member.headerOffset(),
                        "member %s is compressed (method %s); save the arrays with numpy.savez, not savez_compressed"
                                .formatted(CheckpointException.quote(member.name()), member.method()));
            }
            String name = NpyFormat.withoutSuffix(member.name());
            if (!names.add(name)) {
                // a member 'a' beside a member 'a.npy'
                throw CheckpointException.of(
                        CheckpointRule.DUPLICATE_TENSOR,
                        in.path(),
                        member.headerOffset(),
                        name,
                        "two arrays have the name %s".formatted(CheckpointException.quote(name)));
            }
            arrays.add(NpyHeader.read(in, name, member.dataOffset(), member.dataEnd()));
        }
        return NpyFormat.file(
                in,
                arrays,
                others.isEmpty() ? List.of()
                        : List.of("not loaded, because they are no arrays: " + InertText.list(others)));
    }

    /** Returns whether a member is an array: by its ending, else by its content as NumPy does. */
    private static boolean isArray(FormatInput in, Member member) {
        byte[] magic = NpyGrammar.magic();
        return member.name().endsWith(NpyFormat.SUFFIX)
                || member.stored()
                        && member.bytes() >= magic.length
                        && in.read(member.dataOffset(), magic.length).equals(ByteBuffer.wrap(magic));
    }
}
