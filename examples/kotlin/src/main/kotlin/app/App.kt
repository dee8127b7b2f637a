package app

import io.gds4j.CuFileDriver
import io.gds4j.loader.Checkpoint
import java.nio.file.Path

/** Saves a checkpoint and loads it into GPU memory, or into host memory without a GPU. */
fun main() {
    val path = Path.of("model.safetensors")
    Checkpoint.save(path, mapOf("weight" to floatArrayOf(1f, 2f, 3f)))
    CuFileDriver.open().use { driver ->
        Checkpoint.load(path, driver).use { tensors ->
            for (tensor in tensors) {
                println("loaded ${tensor.name()} ${tensor.shape()} by ${driver.backendName()}")
            }
        }
    }
}
