package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The calls of inline functions: by the pointers of a device's context. */
class FfmVerbsTest {
    private final Arena arena = Arena.ofShared();
    private final FfmVerbs verbs = new FfmVerbs(name -> Optional.empty());
    private final MemorySegment context = arena.allocate(FfmVerbs.CONTEXT_SIZE, 8);
    private final MemorySegment struct = arena.allocate(FfmVerbs.QP_SIZE, 8);
    private final List<String> calls = new ArrayList<>();
    private int answer;

    FfmVerbsTest() {
        struct.set(JAVA_LONG, 0, context.address());
    }

    @AfterEach
    void free() {
        arena.close();
    }

    private void offer(long offset, String method, FunctionDescriptor type) {
        try {
            context.set(JAVA_LONG, offset, Linker.nativeLinker().upcallStub(
                    MethodHandles.lookup().findVirtual(FfmVerbsTest.class, method, type.toMethodType()).bindTo(this),
                    type, arena).address());
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void missingFunctionsAreNamed() {
        assertThat(verbs.missing()).contains("ibv_reg_mr", "ibv_create_qp").doesNotContain("ibv_reg_dmabuf_mr", "poll");
        assertThat(VerbsLibrary.open("libc.so.6")).isInstanceOfSatisfying(
                VerbsLibrary.Missing.class, missing -> assertThat(missing.reason()).contains("ibv_reg_mr"));
        assertThat(verbs.regDmaBufMr(0, 0, 1, 0, 3, 1)).isEqualTo(-Errno.EOPNOTSUPP);
    }

    @Test
    void requestsAreReadByTheDevice() {
        offer(FfmVerbs.OPS_POST_SEND, "post", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
        SendRequest request = new SendRequest(4).rdma(7, SendRequest.RDMA_WRITE, 0, 0x1234, 99).piece(0x40, 12, 5);
        assertThat(verbs.postSend(struct.address(), request)).isZero();
        assertThat(calls).containsExactly("id 7 opcode 0 flags 2 pieces 1 at 40 remote 1234 key 99");
        answer = Errno.ENOMEM;
        assertThat(verbs.postSend(struct.address(), request)).isEqualTo(-Errno.ENOMEM);
    }

    @Test
    void completionsAreRead() {
        offer(FfmVerbs.OPS_POLL_CQ, "poll", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS));
        WorkCompletions completions = new WorkCompletions(3);
        answer = 1;
        assertThat(verbs.pollCq(struct.address(), completions)).isOne();
        assertThat(completions.id(2)).isEqualTo(42);
        answer = -2;
        assertThat(verbs.pollCq(struct.address(), completions)).isEqualTo(-Errno.EIO);
    }

    @Test
    void deviceWithoutWindowsHasNone() {
        assertThat(verbs.allocMw(struct.address(), Verbs.WINDOW_TYPE_1)).isEqualTo(-Errno.EOPNOTSUPP);
        assertThat(verbs.bindMw(struct.address(), 0, new WindowBind(0, 0, 0, 1, 1))).isEqualTo(-Errno.EOPNOTSUPP);
    }

    // ---- called by the stubs: no exception may enter C

    int post(long queuePair, MemorySegment request, MemorySegment bad) {
        MemorySegment read = request.reinterpret(SendRequest.SIZE);
        long pieces = read.get(JAVA_LONG, SendRequest.SG_LIST);
        calls.add("id %d opcode %d flags %d pieces %d at %x remote %x key %d".formatted(
                read.get(JAVA_LONG, SendRequest.WR_ID), read.get(JAVA_INT, SendRequest.OPCODE),
                read.get(JAVA_INT, SendRequest.SEND_FLAGS), read.get(JAVA_INT, SendRequest.NUM_SGE),
                MemorySegment.ofAddress(pieces).reinterpret(Pieces.SIZE).get(JAVA_LONG, Pieces.ADDR),
                read.get(JAVA_LONG, SendRequest.REMOTE_ADDR), read.get(JAVA_INT, SendRequest.RKEY)));
        return answer;
    }

    int poll(long queue, int most, MemorySegment into) {
        into.reinterpret(WorkCompletions.SIZE * most).set(JAVA_LONG, 2 * WorkCompletions.SIZE, 42);
        return answer;
    }
}
