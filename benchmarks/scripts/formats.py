"""Data sets as their own libraries write and read them. See formats.sh.

usage: formats.py make FORMAT FOLDER MIB       writes a data set; prints what gds records opens, and the file that has the bytes
       formats.py read FORMAT FILE order|random PROCESSES SECONDS   prints bytes per second, of all processes

Each process reads again and again for that time, or once if it is 0. Tar and TFRecord files are read in their order only. Bytes of
samples are read or copied, and no images decoded.
"""
import multiprocessing
import os
import random
import sys
import time

SAMPLE = 100 << 10  # bytes of a sample; a number of its class comes with it
ROW = 4 << 10  # bytes of an Arrow row, of float32
BATCH = 256  # rows that are copied at a time


def contents(mib):
    return ((os.urandom(SAMPLE), i % 100) for i in range((mib << 20) // SAMPLE))


def make_tar(folder, mib):
    import webdataset
    path = os.path.join(folder, "a.tar")
    with webdataset.TarWriter(path) as writer:
        for i, (image, kind) in enumerate(contents(mib)):
            writer.write({"__key__": "%06d" % i, "jpg": image, "cls": kind})
    return path, path


def make_tfrecord(folder, mib):
    import tfrecord
    path = os.path.join(folder, "a.tfrecord")
    writer = tfrecord.TFRecordWriter(path)
    for image, kind in contents(mib):
        writer.write({"image": (image, "byte"), "kind": (kind, "int")})
    writer.close()
    return path, path


def make_mds(folder, mib):
    from streaming import MDSWriter
    with MDSWriter(out=folder, columns={"image": "bytes", "kind": "int"}, size_limit=None) as writer:
        for image, kind in contents(mib):
            writer.write({"image": image, "kind": kind})
    return os.path.join(folder, "index.json"), os.path.join(folder, "shard.00000.mds")


def make_npy(folder, mib):
    import numpy
    path = os.path.join(folder, "a.npy")
    numpy.save(path, numpy.frombuffer(os.urandom((mib << 20) // SAMPLE * SAMPLE), numpy.uint8).reshape(-1, SAMPLE))
    return path, path


def make_arrow(folder, mib):
    import numpy
    import pyarrow
    path = os.path.join(folder, "a.arrow")
    values = pyarrow.array(numpy.frombuffer(os.urandom(mib << 20), numpy.float32))
    table = pyarrow.table({"x": pyarrow.FixedSizeListArray.from_arrays(values, ROW // 4)})
    with pyarrow.OSFile(path, "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return path, path


def read_tar(path, shuffled):
    from webdataset.tariterators import group_by_keys, tar_file_expander
    with open(path, "rb") as stream:
        for sample in group_by_keys(tar_file_expander([{"url": "", "stream": stream}])):
            yield len(sample["jpg"])


def read_tfrecord(path, shuffled):
    import tfrecord
    return map(len, tfrecord.tfrecord_iterator(path))


def read_mds(path, shuffled):
    from streaming import LocalDataset
    data = LocalDataset(local=os.path.dirname(path))
    return (len(data[i]["image"]) for i in numbers(len(data), shuffled))


def read_npy(path, shuffled):
    import numpy
    rows = numpy.load(path, mmap_mode="r")
    return (numpy.array(rows[i]).nbytes for i in numbers(len(rows), shuffled))


def read_arrow(path, shuffled):
    import numpy
    import pyarrow
    with pyarrow.memory_map(path) as file:  # a copy from the map is faster than a read, and numpy's take than Arrow's
        rows = pyarrow.ipc.open_file(file).get_batch(0).column(0).values.to_numpy().reshape(-1, ROW // 4)
        batch = numpy.empty((BATCH, ROW // 4), numpy.float32)
        order = numbers(len(rows), shuffled)
        for first in range(0, len(rows), BATCH):
            if shuffled:
                numpy.take(rows, order[first:first + BATCH], axis=0, out=batch, mode="clip")
            else:
                batch[:] = rows[first:first + BATCH]
            yield batch.nbytes


def numbers(count, shuffled):
    every = list(range(count))
    if shuffled:
        random.shuffle(every)
    return every


def measure(read, path, shuffled, seconds, ready, result):
    sum(1 for _, _ in zip(range(4), read(path, shuffled)))  # imports and maps
    ready.wait()
    begun, size, again = time.perf_counter(), 0, True
    while again:
        for length in read(path, shuffled):
            size += length
            if 0 < seconds < time.perf_counter() - begun:
                break
        again = time.perf_counter() - begun < seconds
    result.put(size / (time.perf_counter() - begun))


if sys.argv[1] == "make":
    print(*globals()["make_" + sys.argv[2]](sys.argv[3], int(sys.argv[4])), sep="\n")
else:
    read = globals()["read_" + sys.argv[2]]
    path, shuffled, count, seconds = sys.argv[3], sys.argv[4] == "random", int(sys.argv[5]), float(sys.argv[6])
    fork = multiprocessing.get_context("fork")
    ready, result = fork.Barrier(count), fork.Queue()
    workers = [fork.Process(target=measure, args=(read, path, shuffled, seconds, ready, result)) for _ in range(count)]
    for worker in workers:
        worker.start()
    print(int(sum(result.get(timeout=seconds + 300) for _ in workers)))
    for worker in workers:
        worker.join()
