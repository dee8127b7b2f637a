package app

import io.gds4j.CuFileDriver
import io.gds4j.dataset.RecordLoader
import io.gds4j.dataset.source.RecordFiles
import io.gds4j.loader.Checkpoint
import java.nio.file.Path
import java.util.List as JavaList
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** Saves a checkpoint, loads it into GPU memory, or into host memory without a GPU, and reads its file as records. */
@main def app(): Unit =
  val path = Path.of("model.safetensors")
  Checkpoint.save(path, Map("weight" -> Array(1f, 2f, 3f)).asJava)
  Using.Manager { use =>
    val driver = use(CuFileDriver.open())
    for tensor <- use(Checkpoint.load(path, driver)).asScala do
      println(s"loaded ${tensor.name} ${tensor.shape} by ${driver.backendName}")
    val loader = use(RecordLoader.builder(driver, RecordFiles.fixed(JavaList.of(path), 4), 2).open())
    println(s"${loader.asScala.map(batch => Using.resource(batch)(_.count)).sum} records")
  }.get
