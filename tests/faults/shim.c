/* Lets one chosen system call of a program fail: the n-th of those that write inside a folder.
 *
 * Loaded with LD_PRELOAD. A filter of the kernel (seccomp) sends every call that writes to the handler below, whether it
 * comes from the C library or, as in programs in Rust, past it. The handler counts the calls on paths inside FAULT_ROOT,
 * lets the one with the number FAULT_AT fail in the way FAULT_HOW, writes a line on it to FAULT_LOG, and does all others
 * by itself. A call that it does itself bears a mark as its sixth argument, by which the filter lets it pass.
 *
 * FAULT_HOW is EIO, ENOSPC, EACCES, EINTR or short, which cuts a write in half.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define REGISTER(context, name) ((context)->uc_mcontext.gregs[name])
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the registers of this processor are not known here"
#endif

/* The sixth argument of the calls that the handler does itself. */
#define MARK 0x53505247UL

/* What the number of arguments tells of a call: where its paths or its file stand. */
enum kind { OPEN, OPEN_AT, ONE_PATH, ONE_PATH_AT, TWO_PATHS, TWO_PATHS_AT, A_FILE, A_WRITE };

struct call {
    long number;
    enum kind kind;
    const char *name;
};

static const struct call calls[] = {
#ifdef SYS_open
    {SYS_open, OPEN, "open"},
    {SYS_creat, ONE_PATH, "creat"},
    {SYS_rename, TWO_PATHS, "rename"},
    {SYS_link, TWO_PATHS, "link"},
    {SYS_symlink, TWO_PATHS, "symlink"},
    {SYS_mkdir, ONE_PATH, "mkdir"},
    {SYS_unlink, ONE_PATH, "unlink"},
    {SYS_rmdir, ONE_PATH, "rmdir"},
    {SYS_chmod, ONE_PATH, "chmod"},
#endif
#ifdef SYS_renameat
    {SYS_renameat, TWO_PATHS_AT, "renameat"},
#endif
    {SYS_openat, OPEN_AT, "openat"},
    {SYS_renameat2, TWO_PATHS_AT, "renameat2"},
    {SYS_linkat, TWO_PATHS_AT, "linkat"},
    {SYS_mkdirat, ONE_PATH_AT, "mkdirat"},
    {SYS_unlinkat, ONE_PATH_AT, "unlinkat"},
    {SYS_fchmodat, ONE_PATH_AT, "fchmodat"},
    {SYS_fchmod, A_FILE, "fchmod"},
    {SYS_ftruncate, A_FILE, "ftruncate"},
    {SYS_fsync, A_FILE, "fsync"},
    {SYS_fdatasync, A_FILE, "fdatasync"},
    {SYS_write, A_WRITE, "write"},
    {SYS_pwrite64, A_WRITE, "pwrite64"},
    {SYS_writev, A_FILE, "writev"},
};

#define COUNT (sizeof calls / sizeof calls[0])

static char root[PATH_MAX];
static size_t root_length;
static long at;
static int how;
static int is_short;
static int log_file = -1;
static long counted;

static long perform(long number, const unsigned long *a) {
    long result = syscall(number, a[0], a[1], a[2], a[3], a[4], MARK);
    return result == -1 ? -errno : result;
}

/* Puts what a link of the system tells into `path`. */
static int follow(const char *link, char *path, size_t size) {
    ssize_t length = readlink(link, path, size - 1);
    path[length < 0 ? 0 : length] = '\0';
    return length > 0;
}

static int file_path(unsigned long file, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", (int)file);
    return follow(link, path, size);
}

/* Whether a path lies inside the root, or is it. One that is relative is taken from where the program works. */
static int path_is_inside(unsigned long address) {
    const char *path = (const char *)address;
    char folder[PATH_MAX];
    if (path[0] != '/') {
        if (!follow("/proc/self/cwd", folder, sizeof folder)) {
            return 0;
        }
        path = folder;
    }
    return strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == '\0');
}

static int writes(unsigned long flags) {
    return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0;
}

/* Whether a call counts, and which path it is about. */
static int counts(const struct call *call, const unsigned long *a, char *path, size_t size) {
    const char *named = NULL;
    switch (call->kind) {
    case OPEN: named = writes(a[1]) ? (const char *)a[0] : NULL; break;
    case OPEN_AT: named = writes(a[2]) ? (const char *)a[1] : NULL; break;
    case ONE_PATH: named = (const char *)a[0]; break;
    case ONE_PATH_AT: named = (const char *)a[1]; break;
    case TWO_PATHS: named = (const char *)a[1]; break;
    case TWO_PATHS_AT: named = (const char *)a[3]; break;
    case A_FILE:
    /* Pipes and the like have names that are not paths. */
    case A_WRITE: return file_path(a[0], path, size) && path[0] == '/' && path_is_inside((unsigned long)path);
    }
    if (named == NULL || !path_is_inside((unsigned long)named)) {
        return 0;
    }
    snprintf(path, size, "%s", named);
    return 1;
}

static long handle(long number, unsigned long *a) {
    const struct call *call = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        if (calls[i].number == number) {
            call = &calls[i];
        }
    }
    char path[PATH_MAX];
    if (call == NULL || !counts(call, a, path, sizeof path) || __sync_add_and_fetch(&counted, 1) != at) {
        return perform(number, a);
    }
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%ld %s %s\n", at, call->name, path);
    unsigned long log_arguments[6] = {(unsigned long)log_file, (unsigned long)line, (unsigned long)length};
    perform(SYS_write, log_arguments);
    if (!is_short) {
        return -how;
    }
    if (call->kind == A_WRITE && a[2] > 1) {
        a[2] /= 2;
    }
    return perform(number, a);
}

static void on_call(int signal, siginfo_t *info, void *raw) {
    (void)signal;
    int kept = errno;
    ucontext_t *context = raw;
#if defined(__x86_64__)
    unsigned long a[6] = {
        REGISTER(context, REG_RDI), REGISTER(context, REG_RSI), REGISTER(context, REG_RDX),
        REGISTER(context, REG_R10), REGISTER(context, REG_R8),  REGISTER(context, REG_R9),
    };
    REGISTER(context, REG_RAX) = handle(info->si_syscall, a);
#else
    unsigned long a[6];
    for (int i = 0; i < 6; i++) {
        a[i] = context->uc_mcontext.regs[i];
    }
    context->uc_mcontext.regs[0] = handle(info->si_syscall, a);
#endif
    errno = kept;
}

static void fail(const char *what) {
    perror(what);
    _exit(99);
}

__attribute__((constructor)) static void install(void) {
    const char *folder = getenv("FAULT_ROOT"), *number = getenv("FAULT_AT"), *way = getenv("FAULT_HOW"),
               *log_path = getenv("FAULT_LOG");
    if (folder == NULL || number == NULL || way == NULL || log_path == NULL) {
        return;
    }
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    at = atol(number);
    is_short = strcmp(way, "short") == 0;
    how = strcmp(way, "ENOSPC") == 0 ? ENOSPC : strcmp(way, "EACCES") == 0 ? EACCES : strcmp(way, "EINTR") == 0 ? EINTR : EIO;
    /* First the handler: a program that is started by another one has the filter of that one already. */
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_call;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    if (sigaction(SIGSYS, &action, NULL) != 0) {
        fail("the handler of faults");
    }
    log_file = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log_file < 0) {
        fail("the log of faults");
    }

    struct sock_filter filter[COUNT + 24];
    unsigned short length = 0;
#define ADD(...) filter[length++] = (struct sock_filter)__VA_ARGS__
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    /* Copies inside the kernel are refused, so that they become reads and writes, which are counted. */
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_copy_file_range, 1, 0));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendfile, 0, 1));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
    /* What is opened to be read passes: so the loader opens libraries, before there is a handler. */
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])));
    ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1, 0));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
#ifdef SYS_open
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 4));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])));
    ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1, 0));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
#endif
    for (size_t i = 0; i < COUNT; i++) {
        /* Each jumps over the rest and over what allows. */
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number, (unsigned char)(COUNT - i), 0));
    }
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 0, 1));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    struct sock_fprog program = {length, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        fail("the filter of faults");
    }
}
