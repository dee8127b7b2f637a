package io.gds4j.interop.ort;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorLoan;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Tensors of a checkpoint as initialisers of an ONNX Runtime session, by their names and without a copy. ONNX Runtime keeps their
 * addresses, so they are lent until this object is closed: close it after the session.
 *
 * <pre>{@code
 * try (OrtWeights<OnnxTensor> weights = OrtWeights.of(tensors, (data, shape, type) -> OnnxTensor.createTensor(
 *         environment, data, shape, OnnxJavaType.valueOf(type)));
 *         SessionOptions options = new SessionOptions()) {
 *     weights.forEach(options::addInitializer);
 *     try (OrtSession session = environment.createSession(model, options)) {
 *         session.run(inputs);
 *     }
 * }
 * }</pre>
 *
 * <p>
 * gds4j names no class of ONNX Runtime, so any version and build of it fits.
 *
 * @param <T> a tensor of ONNX Runtime
 * @since 0.1
 */
public final class OrtWeights<T extends AutoCloseable> implements AutoCloseable {
    private static final String FUNCTION = "OrtWeights.of";

    /** Names of {@code OnnxJavaType}. */
    private static final Map<DType, String> TYPES = Map.ofEntries(
            Map.entry(DType.F32, "FLOAT"),
            Map.entry(DType.F64, "DOUBLE"),
            Map.entry(DType.F16, "FLOAT16"),
            Map.entry(DType.BF16, "BFLOAT16"),
            Map.entry(DType.I8, "INT8"),
            Map.entry(DType.I16, "INT16"),
            Map.entry(DType.I32, "INT32"),
            Map.entry(DType.I64, "INT64"),
            Map.entry(DType.U8, "UINT8"),
            Map.entry(DType.BOOL, "BOOL"));

    /**
     * Makes a tensor of ONNX Runtime over memory.
     *
     * @param <T> the tensor
     * @param <E> what it may throw
     */
    @FunctionalInterface
    public interface Maker<T, E extends Exception> {
        /**
         * Makes a tensor.
         *
         * @param data a direct buffer, in place
         * @param shape dimensions
         * @param type name of {@code OnnxJavaType}
         * @return the tensor
         * @throws E if ONNX Runtime refuses
         */
        T make(ByteBuffer data, long[] shape, String type) throws E;
    }

    /**
     * Takes a weight.
     *
     * @param <T> the tensor
     * @param <E> what it may throw
     */
    @FunctionalInterface
    public interface Action<T, E extends Exception> {
        /**
         * Takes a weight.
         *
         * @param name name of the tensor
         * @param weight the tensor
         * @throws E if ONNX Runtime refuses
         */
        void accept(String name, T weight) throws E;
    }

    private final Map<String, T> weights;
    private final TensorLoan loan;

    private OrtWeights(Map<String, T> weights, TensorLoan loan) {
        this.weights = weights;
        this.loan = loan;
    }

    /**
     * Makes a weight of each tensor, or none.
     *
     * @param tensors tensors in memory of the host, loaded or mapped
     * @param maker calls {@code OnnxTensor.createTensor}
     * @param <T> the tensors of ONNX Runtime
     * @param <E> what the maker may throw
     * @return the weights, to be closed after the session and before the tensors
     * @throws CuFileException INVALID_VALUE for a type that the Java API of ONNX Runtime lacks, for a tensor that is not row-major, and as
     *         {@link LoadedTensors#lend} and {@link LoadedTensor#asByteBuffer}: for more than 2^31-1 bytes
     * @throws E if the maker throws
     */
    public static <T extends AutoCloseable, E extends Exception> OrtWeights<T> of(
            LoadedTensors tensors, Maker<? extends T, E> maker) throws E {
        TensorLoan loan = tensors.lend();
        OrtWeights<T> weights = new OrtWeights<>(new LinkedHashMap<>(), loan);
        return Undo.<OrtWeights<T>, E>ifFails(weights::close, () -> {
            for (LoadedTensor tensor : tensors) {
                String type = TYPES.get(tensor.dtype());
                if (type == null) {
                    throw CuFileException.invalid(FUNCTION, "tensor %s is %s, which ONNX Runtime's Java API lacks"
                            .formatted(CheckpointException.quote(tensor.name()), tensor.dtype()));
                }
                if (!tensor.info().order().isRowMajor()) {
                    throw CuFileException.invalid(FUNCTION, "tensor %s is %s, and ONNX Runtime reads row by row"
                            .formatted(CheckpointException.quote(tensor.name()), tensor.info().order()));
                }
                long[] shape = tensor.shape().stream().mapToLong(Long::longValue).toArray();
                weights.weights.put(tensor.name(), maker.make(tensor.asByteBuffer(), shape, type));
            }
            return weights;
        });
    }

    /**
     * Hands each weight to {@code SessionOptions.addInitializer}.
     *
     * @param action takes a name and a tensor
     * @param <E> what it may throw
     * @throws E if it throws
     */
    public <E extends Exception> void forEach(Action<? super T, E> action) throws E {
        for (Map.Entry<String, T> weight : weights.entrySet()) {
            action.accept(weight.getKey(), weight.getValue());
        }
    }

    /** Closes the weights, then ends the loan. Idempotent. */
    @Override
    public void close() {
        try {
            for (T weight : weights.values()) {
                weight.close();
            }
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        } finally {
            weights.clear();
            loan.close();
        }
    }
}
