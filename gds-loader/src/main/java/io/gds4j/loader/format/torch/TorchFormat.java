package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFolder;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointParts;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.text.HeaderHeap;
import io.gds4j.loader.internal.zip.ZipArchive;
import io.gds4j.loader.internal.zip.ZipArchive.Member;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Files of {@code torch.save} since PyTorch 1.6: {@code .pt}, {@code .pth}, {@code .bin}. Older files, TorchScript archives and
 * big-endian files are known and not read.
 *
 * @since 0.1
 */
public final class TorchFormat implements CheckpointFormat {
    /** Name of the format of {@link DistcpFormat}, which has files beside these. */
    static final String DISTCP = "distcp";
    private static final String PICKLE = "data.pkl";
    private static final String BYTE_ORDER = "/byteorder";
    private static final String INDEX_SUFFIX = ".bin.index.json";
    private static final String SINGLE_NAME = "pytorch_model.bin";
    /** The pickled number 0x1950a86a20f9469cfc6c, with which torch.save began before version 1.6. */
    private static final byte[] LEGACY = {
            (byte) 0x8a, 10, 0x6c, (byte) 0xfc, (byte) 0x9c, 0x46, (byte) 0xf9, 0x20, 0x6a, (byte) 0xa8, 0x50, 0x19};
    /** Bytes of protocol and frame in front of the number from protocol 4 on. */
    private static final int FRAMED = 11;
    private static final byte[] PREVIEW = "PYTORCH1".getBytes(StandardCharsets.US_ASCII);
    private static final int TAR_MAGIC_OFFSET = 257;
    private static final byte[] TAR_MAGIC = "ustar".getBytes(StandardCharsets.US_ASCII);
    /** What the first member of an old archive can be. */
    private static final List<String> TAR_MEMBERS = List.of("sys_info\0", "pickle\0", "storages\0", "tensors\0");
    private static final String SAVE_AGAIN = "load it with torch.load and save it again with torch.save";

    /** Creates the format; {@link java.util.ServiceLoader} calls this. */
    public TorchFormat() {
        // without state
    }

    @Override
    public String id() {
        return "torch";
    }

    @Override
    public List<String> suffixes() {
        return List.of(".pt", ".pth", ".bin");
    }

    /** Yields to safetensors and {@code .distcp}: repositories of models keep both, and trainers keep their arguments beside. */
    @Override
    public boolean yieldsTo(CheckpointFormat other) {
        return other.id().equals("safetensors") || other.id().equals(DISTCP);
    }

    @Override
    public CheckpointParts partsOf(Path file) {
        if (file.toString().endsWith("." + DISTCP)) {
            throw CheckpointException.of(CheckpointRule.UNSUPPORTED_FORMAT, file,
                    "what one rank saved of a distributed checkpoint of PyTorch; name its folder");
        }
        return CheckpointParts.of(List.of(file));
    }

    @Override
    public Recognition recognize(FileHead head) {
        if (isLegacy(head.first())) {
            return new Recognition.Unsupported("a PyTorch file of the format before version 1.6", SAVE_AGAIN);
        }
        if (head.startsWith(PREVIEW)) {
            return new Recognition.Unsupported("a PyTorch file of a preview format (PYTORCH1)", SAVE_AGAIN);
        }
        if (isLegacyTar(head.first())) {
            return new Recognition.Unsupported("a tar archive of PyTorch before version 0.1.10", SAVE_AGAIN);
        }
        List<String> names = ZipArchive.names(head);
        if (names.stream().anyMatch(TorchFormat::isOfExport)) {
            return new Recognition.Unsupported(
                    "a program of torch.export (.pt2)", "save its state_dict with torch.save or safetensors");
        }
        Optional<String> root = rootOf(names);
        if (root.isEmpty()) {
            return names.stream().noneMatch(name -> name.contains("/.data/")) ? Recognition.UNRECOGNIZED
                    : new Recognition.Unsupported("an archive of torch.package",
                            "load its module with torch.package and save the state_dict()");
        }
        String constants = root.get() + "/constants.pkl";
        String code = root.get() + "/code/";
        if (names.stream().anyMatch(name -> name.equals(constants) || name.startsWith(code))) {
            return new Recognition.Unsupported(
                    "a TorchScript archive", "load it with torch.jit.load and save its state_dict() with torch.save");
        }
        return Recognition.RECOGNIZED;
    }

    private static boolean isOfExport(String member) {
        return member.endsWith("serialized_exported_program.json") || member.endsWith("/archive_format");
    }

    /** Returns whether a file is a pickle, of any protocol, that begins with the number of old files. */
    private static boolean isLegacy(ByteBuffer first) {
        return first.limit() > 2
                && first.get(0) == (byte) 0x80
                && (contains(first, 2, LEGACY) || contains(first, FRAMED, LEGACY));
    }

    private static boolean isLegacyTar(ByteBuffer first) {
        return contains(first, TAR_MAGIC_OFFSET, TAR_MAGIC)
                && TAR_MEMBERS.stream().anyMatch(name -> contains(first, 0, name.getBytes(StandardCharsets.US_ASCII)));
    }

    private static boolean contains(ByteBuffer first, int at, byte[] wanted) {
        return first.limit() >= at + wanted.length && first.slice(at, wanted.length).equals(ByteBuffer.wrap(wanted));
    }

    /** Returns the folder at the top of the archive that contains the pickle. */
    private static Optional<String> rootOf(Iterable<String> names) {
        for (String name : names) {
            int slash = name.indexOf('/');
            if (slash > 0 && name.length() == slash + 1 + PICKLE.length() && name.endsWith(PICKLE)) {
                return Optional.of(name.substring(0, slash));
            }
        }
        return Optional.empty();
    }

    @Override
    public CheckpointFile read(FormatInput in) {
        StateDict dict = describe(in, in.path(), ZipArchive.read(in));
        List<TensorInfo> tensors = dict.tensors();
        long dataOffset =
                tensors.stream().mapToLong(TensorInfo::fileOffset).min().orElse(in.size());
        return CheckpointFile.of(
                in.path(), in.size(), dataOffset, tensors, Metadata.of(dict.metadata()), dict.warnings());
    }

    /** Describes an archive of torch.save, which may be a part of the file at {@code path}; offsets count from its first byte. */
    static StateDict describe(FileHead in, Path path, ZipArchive archive) {
        String root = rootOf(archive.members().stream().map(Member::name).toList())
                .orElseThrow(() -> CheckpointException.of(
                        CheckpointRule.UNSUPPORTED_FORMAT, path,
                        "a zip file without data.pkl, which torch.save writes"));
        checkByteOrder(in, path, archive, root);
        Member pickle = archive.member(root + "/" + PICKLE).orElseThrow();
        TensorBuilder.requireStored(path, pickle);
        HeaderHeap heap = new HeaderHeap(0);
        PickleInput input = new PickleInput(in, path, pickle.dataOffset(), pickle.bytes());
        PickleValue value = PickleMachine.read(input, heap);
        return StateDict.of(
                value, path, new TensorBuilder(path, archive, root), pickle.dataOffset(), input.bytesRead(), heap);
    }

    /** Returns whether a description may depend on the data of a member. */
    static boolean reads(Member member) {
        return member.name().endsWith("/" + PICKLE) || member.name().endsWith(BYTE_ORDER);
    }

    private static void checkByteOrder(FileHead in, Path path, ZipArchive archive, String root) {
        Optional<Member> member = archive.member(root + BYTE_ORDER);
        if (member.isEmpty()) {
            return; // torch before 2.1, which supported no other order
        }
        TensorBuilder.requireStored(path, member.get());
        int length = (int) Math.min(member.get().bytes(), 16);
        byte[] text = new byte[length];
        in.read(member.get().dataOffset(), length).get(text);
        String order = new String(text, StandardCharsets.US_ASCII);
        if (!order.equals("little")) {
            throw CheckpointException.of(
                    CheckpointRule.UNSUPPORTED_FORMAT,
                    path,
                    member.get().dataOffset(),
                    "the byte order of the tensors is %s; only little is read"
                            .formatted(CheckpointException.quote(order)));
        }
    }

    @Override
    public Optional<CheckpointParts> partsIn(CheckpointFolder folder) {
        // beside the usual names trainers keep their optimizer's state and their arguments
        Optional<CheckpointParts> named = folder.named(SINGLE_NAME, INDEX_SUFFIX);
        if (named.isPresent()) {
            return named;
        }
        List<Path> files = folder.completeWithoutVariants(this, folder.recognizedBy(this));
        return files.isEmpty() ? Optional.empty() : Optional.of(CheckpointParts.of(files));
    }
}
