package app;

import com.github.tjake.jlama.model.DistributedContext;
import com.github.tjake.jlama.safetensors.DType;
import com.github.tjake.jlama.safetensors.TensorInfo;
import com.github.tjake.jlama.safetensors.WeightLoader;
import com.github.tjake.jlama.tensor.AbstractTensor;
import com.github.tjake.jlama.tensor.BFloat16BufferTensor;
import com.github.tjake.jlama.tensor.FloatBufferTensor;
import com.github.tjake.jlama.tensor.TensorShape;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Jlama's weights over gds4j: its tensors are views of loaded or mapped ones, without a copy. {@code plan().map()} shares the page cache
 * with other processes; {@code plan().load(driver)} reads the files at once, of every format of gds4j. Close the model first.
 */
public record GdsWeights(LoadedTensors tensors, Map<String, String> metadata) implements WeightLoader {
    @Override
    public Map<String, TensorInfo> tensorInfoMap() {
        return tensors.stream().collect(Collectors.toMap(LoadedTensor::name, tensor -> new TensorInfo(
                type(tensor), tensor.shape().stream().mapToLong(Long::longValue).toArray(),
                new long[] {tensor.info().fileOffset(), tensor.info().fileEnd()})));
    }

    @Override
    public boolean isWeightPresent(String name) {
        return tensors.find(name).isPresent();
    }

    @Override
    public AbstractTensor load(String name, DistributedContext context, boolean sparseRows, boolean sparseColumns) {
        if (context != null && context.hasModelShard()) {
            throw new UnsupportedOperationException("a part of a model: plan().rank(...) loads the slices of a rank");
        }
        LoadedTensor tensor = tensors.get(name);
        int[] sizes = tensor.shape().stream().mapToInt(Math::toIntExact).toArray();
        TensorShape shape = TensorShape.of(sizes.length == 1 ? new int[] {1, sizes[0]} : sizes);
        return switch (type(tensor)) {
            case F32 -> new FloatBufferTensor(name, tensor.asFloatBuffer(), shape, true);
            case BF16 -> new BFloat16BufferTensor(name, tensor.asShortBuffer(), shape, true);
            default -> throw new IllegalArgumentException(tensor.info().toString());
        };
    }

    @Override
    public DType getModelDType() {
        return type(tensors.tensors().getFirst());
    }

    private static DType type(LoadedTensor tensor) {
        return DType.valueOf(tensor.dtype().id());
    }

    @Override
    public void close() {
        tensors.close();
    }
}
