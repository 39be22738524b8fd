/*
 * Preloaded into a process under test: the sync of any file whose name ends with FAIL_SYNC_OF fails with EIO from call number
 * FAIL_SYNC_FROM on. Every such call is written to FAIL_SYNC_LOG, one letter each: "+" went through, "-" failed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int calls;

static int fails(int fd) {
  const char *suffix = getenv("FAIL_SYNC_OF");
  char link[64], path[4096];
  if (suffix == NULL) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  size_t tail = strlen(suffix);
  if ((size_t)length < tail || strcmp(path + length - tail, suffix) != 0) return 0;
  int failing = ++calls >= atoi(getenv("FAIL_SYNC_FROM"));
  int log = open(getenv("FAIL_SYNC_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (log >= 0) {
    if (write(log, failing ? "-" : "+", 1) != 1) abort();
    close(log);
  }
  return failing;
}

static int sync_with(const char *name, int fd) {
  if (fails(fd)) {
    errno = EIO;
    return -1;
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(fd);
}

int fsync(int fd) { return sync_with("fsync", fd); }
int fdatasync(int fd) { return sync_with("fdatasync", fd); }
