/* SPDX-License-Identifier: Apache-2.0 */
/* Device files that a job must not open: a small program of the kernel's own, attached to the job's
 * v2 control group. Built by hand: it is a list of comparisons, and a compiler for it would be
 * larger than we are. It stays as long as the group does. */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    EACH = 3,  /* instructions for a device */
    FIXED = 9, /* and for all */
    PROGRAM_MAX = ORDER_DENY_MAX * EACH + FIXED,
};

/* Registers: what is opened is in the context that r1 points to. */
enum { R0, R1, R2, R3, R4 };

static struct bpf_insn load(unsigned to, size_t offset)
{
    return (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_W,
                              .dst_reg = (unsigned char)(to & 0xf),
                              .src_reg = R1,
                              .off = (short)offset };
}

static struct bpf_insn with(unsigned code, unsigned reg, int number, int jump)
{
    return (struct bpf_insn){ .code = (unsigned char)code,
                              .dst_reg = (unsigned char)(reg & 0xf),
                              .off = (short)jump,
                              .imm = number };
}

/* r0 = answer; exit */
static size_t answer(struct bpf_insn *at, int number)
{
    at[0] = with(BPF_ALU64 | BPF_MOV | BPF_K, R0, number, 0);
    at[1] = with(BPF_JMP | BPF_EXIT, 0, 0, 0);
    return 2;
}

/* Whatever is not a denied character device may be opened, as far as we are asked. */
static size_t build(const struct order *order, struct bpf_insn *program)
{
    size_t count = 0;

    program[count++] = load(R2, offsetof(struct bpf_cgroup_dev_ctx, access_type));
    program[count++] = with(BPF_ALU64 | BPF_AND | BPF_K, R2, 0xffff, 0);
    program[count++] = load(R3, offsetof(struct bpf_cgroup_dev_ctx, major));
    program[count++] = load(R4, offsetof(struct bpf_cgroup_dev_ctx, minor));
    /* Not a character device: over all comparisons. */
    program[count++] =
        with(BPF_JMP | BPF_JNE | BPF_K, R2, BPF_DEVCG_DEV_CHAR, (int)(order->deny_count * EACH));
    for (size_t i = 0; i < order->deny_count; i++) {
        size_t left = (order->deny_count - i - 1) * EACH;
        program[count++] = with(BPF_JMP | BPF_JNE | BPF_K, R3, (int)order->denies[i].major, 2);
        program[count++] = with(BPF_JMP | BPF_JNE | BPF_K, R4, (int)order->denies[i].minor, 1);
        program[count++] = with(BPF_JMP | BPF_JA, 0, 0, (int)left + 2);
    }
    count += answer(program + count, 1);
    count += answer(program + count, 0);
    return count;
}

static int load_program(const struct order *order)
{
    static struct bpf_insn program[PROGRAM_MAX];
    union bpf_attr attributes = { 0 };

    attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attributes.insns = (unsigned long long)(uintptr_t)program;
    attributes.insn_cnt = (unsigned)build(order, program);
    attributes.license = (unsigned long long)(uintptr_t) "Apache-2.0";
    return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes));
}

static int attach(int program, int group)
{
    union bpf_attr attributes = { 0 };

    attributes.target_fd = (unsigned)group;
    attributes.attach_bpf_fd = (unsigned)program;
    attributes.attach_type = BPF_CGROUP_DEVICE;
    attributes.attach_flags = BPF_F_ALLOW_MULTI;
    return (int)syscall(SYS_bpf, BPF_PROG_ATTACH, &attributes, sizeof(attributes));
}

bool fence_raise(struct shim *shim)
{
    const struct order *order = &shim->order;

    if (order->deny_count == 0 || !order->into)
        return true;
    int program = load_program(order);
    int group = program < 0 ? -1 : open(order->into, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_raised = group >= 0 && attach(program, group) == 0;
    int code = errno;
    if (group >= 0)
        close(group);
    if (program >= 0)
        close(program);
    if (!is_raised)
        shim_fail(shim, code, "cannot deny it access to other devices: %s", words_errno(code));
    return is_raised;
}
