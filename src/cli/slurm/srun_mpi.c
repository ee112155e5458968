/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/srun_mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/parts.h"

enum { CHUNK = 65536 };

/* Servers and clients of these versions understand each other. */
static const char *const types[] = { "pmix", "pmix_v3", "pmix_v4", "pmix_v5", NULL };

bool srun_mpi_has(const char *type)
{
    return string_is_in(type, types);
}

void srun_mpi_list(void)
{
    printf("MPI plugin types are...\n\tnone\n\tpmix\nspecific pmix plugin versions available: ");
    for (size_t i = 1; types[i]; i++)
        printf("%s%s", types[i], types[i + 1] ? "," : "\n");
}

static void become_server(const char *program, const char *space, uint32_t tasks, int input,
                          int output)
{
    AUTO_FREE char *count = mem_printf("%" PRIu32, tasks);

    setpgid(0, 0);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    execl(program, "tarn-pmix", space, count, NULL);
    _exit(1);
}

static int start_server(const char *program, uint32_t step, uint32_t tasks, struct srun_mpi *mpi,
                        struct error *err)
{
    const char *job = getenv("SLURM_JOB_ID");
    AUTO_FREE char *space = mem_printf("tarn.%s.%" PRIu32 ".%d", job ? job : "0", step, getpid());
    int input[2], output[2];

    if (pipe2(input, O_CLOEXEC) < 0)
        return error_set(err, -errno, "pipe: %s", strerror(errno));
    if (pipe2(output, O_CLOEXEC) < 0) {
        int code = error_set(err, -errno, "pipe: %s", strerror(errno));
        close(input[0]);
        close(input[1]);
        return code;
    }
    pid_t pid = fork();
    if (pid == 0)
        become_server(program, space, tasks, input[0], output[1]);
    int code = pid < 0 ? error_set(err, -errno, "fork: %s", strerror(errno)) : 0;
    close(input[0]);
    close(output[1]);
    *mpi = (struct srun_mpi){ .fd = output[0], .life = input[1], .pid = pid > 0 ? pid : 0 };
    return code;
}

/* Up to the end of the last task's variables. Otherwise the text is what went wrong. */
static int read_variables(uint32_t tasks, struct srun_mpi *mpi, struct error *err)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    size_t at = 0;
    uint32_t ended = 0;
    char bytes[CHUNK];

    while (ended < tasks) {
        ssize_t length = read(mpi->fd, bytes, sizeof(bytes));
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return error_set(err, -ENOENT, "%s",
                             text.length > 0 ? text.bytes : "the PMIx server did not start");
        text_add_bytes(&text, bytes, (size_t)length);
        for (; at < text.length; at++)
            ended += text.bytes[at] == '\0' && (at == 0 || text.bytes[at - 1] == '\0');
    }
    mpi->variables = text_take(&text);
    return 0;
}

static void find_tasks(uint32_t tasks, struct srun_mpi *mpi)
{
    char *at = mpi->variables;

    mpi->tasks = mem_zero(tasks, sizeof(mpi->tasks[0]));
    for (uint32_t i = 0; i < tasks; i++) {
        mpi->tasks[i] = at;
        while (*at)
            at += strlen(at) + 1;
        at++;
    }
}

int srun_mpi_start(const char *type, uint32_t step, uint32_t tasks, struct srun_mpi *ret,
                   struct error *err)
{
    AUTO_FREE char *program = NULL;
    struct error why;

    *ret = (struct srun_mpi){ .fd = -1, .life = -1 };
    int code = part_find("tarn-pmix", "src/cli/pmix", &program, NULL);
    if (code < 0)
        error_set(&why, code, "tarn was built without PMIx; expected libpmix-dev for its build");
    if (code == 0)
        code = start_server(program, step, tasks, ret, &why);
    if (code == 0)
        code = read_variables(tasks, ret, &why);
    if (code == 0) {
        find_tasks(tasks, ret);
        return 0;
    }
    srun_mpi_stop(ret);
    return error_set(err, code, "--mpi=%s: %s, or mpirun -np %" PRIu32 " instead of srun", type,
                     why.text, tasks);
}

void srun_mpi_set(const struct srun_mpi *mpi, uint32_t rank)
{
    for (const char *at = mpi->tasks ? mpi->tasks[rank] : ""; *at; at += strlen(at) + 1) {
        AUTO_FREE char *name = mem_string_of(at, strcspn(at, "="));
        setenv(name, at + strlen(name) + 1, 1);
    }
}

bool srun_mpi_read(struct srun_mpi *mpi, struct pmix_message *ret)
{
    ssize_t length = read(mpi->fd, ret, sizeof(*ret));

    if (length < 0 && errno == EINTR)
        return false;
    if (length != (ssize_t)sizeof(*ret)) {
        close(mpi->fd);
        mpi->fd = -1;
        return false;
    }
    return true;
}

void srun_mpi_stop(struct srun_mpi *mpi)
{
    if (mpi->life >= 0)
        close(mpi->life);
    if (mpi->fd >= 0)
        close(mpi->fd);
    if (mpi->pid > 0)
        waitpid(mpi->pid, NULL, 0);
    free(mpi->variables);
    free(mpi->tasks);
    *mpi = (struct srun_mpi){ .fd = -1, .life = -1 };
}
