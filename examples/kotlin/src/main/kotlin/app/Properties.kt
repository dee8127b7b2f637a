package app

import io.gds4j.CuFileDriver
import io.gds4j.CuFileHandle
import io.gds4j.loader.LoadedTensor
import io.gds4j.loader.LoadedTensors
import io.gds4j.loader.LoadReport

// Kotlin sees accessors of Java without get as functions; these make them properties. Copy the file into your project.

val LoadedTensor.name: String get() = name()
val LoadedTensor.dtype get() = dtype()
val LoadedTensor.shape: List<Long> get() = shape()
val LoadedTensor.elements: Long get() = elements()
val LoadedTensor.address: Long get() = address()
val LoadedTensor.bytes: Long get() = length()

val LoadedTensors.names: Set<String> get() = names()
val LoadedTensors.size: Int get() = size()
val LoadedTensors.report: LoadReport get() = report()

val CuFileDriver.backendName: String get() = backendName()
val CuFileDriver.bytesRead: Long get() = bytesRead()
val CuFileDriver.bytesWritten: Long get() = bytesWritten()

val CuFileHandle.size: Long get() = size()
