package io.gds4j.loader;

import io.gds4j.loader.internal.Workers;
import java.lang.foreign.MemorySegment;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Computes SHA-256 of tensors in their target memory, copied to the host in pieces of a MiB. A digest is one of the bytes as they
 * lie there: equal values in another {@link io.gds4j.loader.format.TensorInfo#order} have another digest.
 *
 * @since 0.1
 */
public final class TensorDigest {
    private static final String FUNCTION = "TensorDigest.sha256";
    /** Bytes that are copied to the host at a time. */
    private static final int PIECE = 1 << 20;

    private TensorDigest() {
    }

    /**
     * Returns the digest of one tensor in lower-case hex.
     *
     * @throws io.gds4j.error.CuFileException as {@link LoadedTensors#get}
     */
    public static String sha256(LoadedTensors tensors, String name) {
        return sha256(tensors.get(name));
    }

    /**
     * Returns the digest of one tensor in lower-case hex, such as one that comes in turn.
     *
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_INVALID if the tensor is freed
     */
    public static String sha256(LoadedTensor tensor) {
        return digest(tensor, new byte[PIECE]);
    }

    /**
     * Returns the digests of all tensors by name, in the order of the tensors; uses all cores.
     *
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static Map<String, String> sha256(LoadedTensors tensors) {
        List<LoadedTensor> all = tensors.tensors();
        // longest first, so that no thread ends with a long tensor while the others are idle
        List<LoadedTensor> order = all.stream()
                .sorted(Comparator.comparingLong(LoadedTensor::length).reversed())
                .toList();
        Map<String, String> digests = new ConcurrentHashMap<>();
        Workers workers = new Workers("gds-digest-", Workers.cores(), order.size(), () -> {
            byte[] piece = new byte[PIECE];
            return number -> {
                LoadedTensor tensor = order.get(number);
                digests.put(tensor.info().name(), digest(tensor, piece));
            };
        });
        workers.run(FUNCTION);
        Map<String, String> sorted = LinkedHashMap.newLinkedHashMap(all.size());
        all.forEach(tensor -> {
            String name = tensor.info().name();
            sorted.put(name, digests.get(name));
        });
        return sorted;
    }

    private static String digest(LoadedTensor tensor, byte[] piece) {
        MessageDigest digest;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every Java platform has SHA-256", e);
        }
        for (long at = 0; at < tensor.length(); at += PIECE) {
            int length = (int) Math.min(PIECE, tensor.length() - at);
            checkInterrupt();
            tensor.copyToHost(at, MemorySegment.ofArray(piece).asSlice(0, length));
            digest.update(piece, 0, length);
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static void checkInterrupt() {
        if (Thread.currentThread().isInterrupted()) {
            throw Workers.interrupted(FUNCTION);
        }
    }
}
