package io.gds4j.interop.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.util.Pair;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.format.CheckpointException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Parameters of a DJL block that are tensors of a checkpoint. Nothing is copied.
 *
 * <pre>{@code
 * try (Model model = Model.newInstance("mlp", "PyTorch")) {
 *     model.setBlock(block);
 *     DjlParameters.share(block, tensors, model.getNDManager(), Map.of("weight", "0.weight", "bias", "0.bias"));
 *     block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 64));
 * }
 * tensors.close();
 * }</pre>
 *
 * @since 0.1
 */
@SuppressWarnings("exports") // DJL is optional: a program that shares arrays requires it itself
public final class DjlParameters {
    private static final String FUNCTION = "DjlParameters.share";

    private DjlParameters() {
    }

    /**
     * Sets all parameters of a block, or none. Each is a {@link SharedArray} of the manager: the tensors are lent until the manager, such as
     * that of a model, is closed.
     *
     * @param block a block whose parameters have neither arrays nor shapes
     * @param tensors the tensors; writes to the parameters reach them
     * @param manager a manager of the PyTorch engine, which owns the arrays
     * @param names the name of the tensor for each parameter, as {@link Block#getParameters} names it
     * @throws CuFileException INVALID_VALUE for a parameter without a tensor, or that has a shape or an array already; otherwise as
     *         {@link SharedArray#of}
     */
    public static void share(
            Block block, LoadedTensors tensors, NDManager manager, Map<String, String> names) {
        Map<Parameter, NDArray> arrays = new LinkedHashMap<>();
        Undo.ifFails(() -> Closing.all(arrays.values(), NDArray::close), () -> {
            for (Pair<String, Parameter> pair : block.getParameters()) {
                Parameter parameter = pair.getValue();
                String name = names.get(pair.getKey());
                if (name == null || tensors.find(name).isEmpty()) {
                    throw invalid(pair.getKey(), "has no tensor%s".formatted(
                            name == null ? "" : " " + CheckpointException.quote(name)));
                }
                if (parameter.getShape() != null) {
                    throw invalid(pair.getKey(), "has a shape already, and then takes no array");
                }
                arrays.put(parameter, SharedArray.of(tensors.get(name), manager).array());
            }
        });
        arrays.forEach(Parameter::setArray);
    }

    private static CuFileException invalid(String parameter, String detail) {
        return CuFileException.invalid(FUNCTION,
                "parameter %s %s".formatted(CheckpointException.quote(parameter), detail));
    }
}
