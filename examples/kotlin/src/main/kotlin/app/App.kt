package app

import io.gds4j.CuFileDriver
import io.gds4j.dataset.RecordLoader
import io.gds4j.dataset.source.RecordFiles
import io.gds4j.loader.Checkpoint
import java.nio.file.Path

/** Saves a checkpoint, loads it into GPU memory, or into host memory without a GPU, and reads its file as records. */
fun main() {
    val path = Path.of("model.safetensors")
    Checkpoint.save(path, mapOf("weight" to floatArrayOf(1f, 2f, 3f)))
    CuFileDriver.open().use { driver ->
        Checkpoint.load(path, driver).use { tensors ->
            for (tensor in tensors) {
                println("loaded ${tensor.name} ${tensor.shape} by ${driver.backendName}")
            }
        }
        RecordLoader.builder(driver, RecordFiles.fixed(listOf(path), 4), 2).open().use { loader ->
            println("${loader.asSequence().sumOf { batch -> batch.use { it.count() } }} records")
        }
    }
}
