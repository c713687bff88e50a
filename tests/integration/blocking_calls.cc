// A library that core_calls_test preloads into nodes. It notes each call of the
// C library that may block and is made on the thread "core", and plays the name
// server.
//
//   KAMINO_TEST_CALLS  the file to note calls in: a line for each call and the
//                      way that led to it, "CALL<tab>DETAIL<tab>FRAME FRAME..."
//                      where a frame is FILE+0xOFFSET, innermost first
//   KAMINO_TEST_NAMES  a file with lines "NAME NUMBER", which getaddrinfo
//                      finds; while a file of that name and ".hang" is
//                      there, lookups of these names do not return
//
// Calls that cannot block are not noted: on sockets that are not blocking, and
// on event descriptors. The C library's own calls within it are not seen, hence
// fwrite and the like are noted themselves.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace {

constexpr int kFrames = 24;
constexpr size_t kSeen = 4096;

int log_file = -1;
thread_local bool is_core = false;
thread_local bool inside = false;  // a call that noting one makes itself
std::array<std::atomic<uint64_t>, kSeen> seen;  // ways, by their hash

void* Next(const char* name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) void Begin() {
  void* frame[1];
  (void)backtrace(frame, 1);  // loads what it needs, once
  const char* const path = getenv("KAMINO_TEST_CALLS");
  if (path == nullptr) return;
  log_file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path,
                                      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                                      0644));
}

bool OnCore() {
  if (is_core) return true;
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  is_core = strcmp(name, "core") == 0;
  return is_core;
}

// Whether it was there, or is one too many.
bool IsSeen(uint64_t hash) {
  for (std::atomic<uint64_t>& each : seen) {
    uint64_t there = 0;
    if (each.compare_exchange_strong(there, hash)) return false;
    if (there == hash) return true;
  }
  return true;
}

void Note(const char* call, const std::string& detail) {
  if (log_file < 0 || inside || !OnCore()) return;
  inside = true;
  void* frames[kFrames];
  const int count = backtrace(frames, kFrames);
  uint64_t hash = 14695981039346656037u;
  const auto mix = [&hash](uint64_t value) {
    hash = (hash ^ value) * 1099511628211u;
  };
  for (const char* at = call; *at != '\0'; ++at) mix(*at);
  for (int i = 0; i < count; ++i) mix(reinterpret_cast<uint64_t>(frames[i]));
  if (!IsSeen(hash | 1)) {
    std::string line = std::string(call) + "\t" + detail + "\t";
    for (int i = 2; i < count; ++i) {  // without Note and the call itself
      Dl_info info = {};
      dladdr(frames[i], &info);
      const char* file = info.dli_fname == nullptr ? "?" : info.dli_fname;
      if (const char* slash = strrchr(file, '/')) file = slash + 1;
      char frame[128];
      snprintf(frame, sizeof frame, "%s+0x%zx ", file,
               reinterpret_cast<size_t>(frames[i]) -
                   reinterpret_cast<size_t>(info.dli_fbase));
      line += frame;
    }
    line += "\n";
    (void)!syscall(SYS_write, log_file, line.data(), line.size());
  }
  inside = false;
}

// The kind of file for which a call on the descriptor may wait; "": none.
std::string WaitsOn(int fd) {
  struct stat info;
  if (syscall(SYS_fstat, fd, &info) != 0) return "";
  if (S_ISREG(info.st_mode)) return "file";
  if (S_ISCHR(info.st_mode)) return "terminal";
  const bool blocks = (syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK) == 0;
  if (!blocks) return "";
  if (S_ISFIFO(info.st_mode)) return "pipe";
  if (S_ISSOCK(info.st_mode)) return "socket";
  return "";
}

void NoteOn(const char* call, int fd) {
  if (log_file < 0 || inside || !OnCore()) return;
  const std::string what = WaitsOn(fd);
  if (!what.empty()) {
    Note(call, what + (fd == STDERR_FILENO ? " stderr" : ""));
  }
}

// The number of a name that KAMINO_TEST_NAMES has; "": it has none.
std::string NumberOf(const char* wanted, const char* path) {
  FILE* const file = fopen(path, "re");
  if (file == nullptr) return "";
  char name[256];
  char number[64];
  std::string found;
  while (fscanf(file, "%255s %63s", name, number) == 2) {
    if (strcmp(name, wanted) == 0) found = number;
  }
  fclose(file);
  return found;
}

void AwaitAnswer(const char* path) {
  const std::string hang = std::string(path) + ".hang";
  struct stat info;
  while (stat(hang.c_str(), &info) == 0) {
    const timespec some = {0, 20'000'000};
    syscall(SYS_nanosleep, &some, nullptr);
  }
}

}  // namespace

extern "C" {

#define PASS_ON(type, name, parameters, arguments, note)   \
  type name parameters {                                   \
    static const auto next =                               \
        reinterpret_cast<type(*) parameters>(Next(#name)); \
    note;                                                  \
    return next arguments;                                 \
  }

PASS_ON(int, fsync, (int fd), (fd), NoteOn("fsync", fd))
PASS_ON(int, fdatasync, (int fd), (fd), NoteOn("fdatasync", fd))
PASS_ON(int, syncfs, (int fd) noexcept, (fd), Note("syncfs", ""))
PASS_ON(int, msync, (void* at, size_t size, int flags), (at, size, flags),
        Note("msync", ""))
PASS_ON(int, munmap, (void* at, size_t size) noexcept, (at, size),
        Note("munmap", size >= (1 << 20) ? "large" : "small"))
PASS_ON(int, close, (int fd), (fd), NoteOn("close", fd))
PASS_ON(int, ftruncate, (int fd, off_t size) noexcept, (fd, size),
        Note("ftruncate", ""))
PASS_ON(int, ftruncate64, (int fd, off64_t size) noexcept, (fd, size),
        Note("ftruncate", ""))
PASS_ON(int, posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size),
        Note("posix_fallocate", ""))
PASS_ON(int, fallocate, (int fd, int mode, off_t at, off_t size),
        (fd, mode, at, size), Note("fallocate", ""))
PASS_ON(int, unlink, (const char* path) noexcept, (path), Note("unlink", path))
PASS_ON(int, rename, (const char* from, const char* to) noexcept, (from, to),
        Note("rename", from))
PASS_ON(int, mkdir, (const char* path, mode_t mode) noexcept, (path, mode),
        Note("mkdir", path))
PASS_ON(ssize_t, read, (int fd, void* to, size_t size), (fd, to, size),
        NoteOn("read", fd))
PASS_ON(ssize_t, write, (int fd, const void* from, size_t size),
        (fd, from, size), NoteOn("write", fd))
PASS_ON(ssize_t, pread64, (int fd, void* to, size_t size, off64_t at),
        (fd, to, size, at), NoteOn("pread", fd))
PASS_ON(ssize_t, pwrite64, (int fd, const void* from, size_t size, off64_t at),
        (fd, from, size, at), NoteOn("pwrite", fd))
PASS_ON(ssize_t, writev, (int fd, const iovec* from, int count),
        (fd, from, count), NoteOn("writev", fd))
PASS_ON(size_t, fwrite, (const void* from, size_t size, size_t n, FILE* file),
        (from, size, n, file), NoteOn("fwrite", fileno(file)))
PASS_ON(int, fflush, (FILE * file), (file),
        if (file != nullptr) NoteOn("fflush", fileno(file)))
PASS_ON(FILE*, fopen, (const char* path, const char* mode), (path, mode),
        Note("fopen", path))
PASS_ON(FILE*, fopen64, (const char* path, const char* mode), (path, mode),
        Note("fopen", path))
PASS_ON(int, nanosleep, (const timespec* time, timespec* left), (time, left),
        Note("nanosleep", ""))
PASS_ON(int, clock_nanosleep,
        (clockid_t clock, int flags, const timespec* time, timespec* left),
        (clock, flags, time, left), Note("clock_nanosleep", ""))
PASS_ON(unsigned, sleep, (unsigned time), (time), Note("sleep", ""))
PASS_ON(int, system, (const char* command), (command), Note("system", command))
PASS_ON(FILE*, popen, (const char* command, const char* mode), (command, mode),
        Note("popen", command))
PASS_ON(void*, dlopen, (const char* path, int flags) noexcept, (path, flags),
        Note("dlopen", path == nullptr ? "" : path))
PASS_ON(int, connect, (int fd, const sockaddr* to, socklen_t size),
        (fd, to, size), NoteOn("connect", fd))
PASS_ON(ssize_t, recv, (int fd, void* to, size_t size, int flags),
        (fd, to, size, flags),
        if ((flags & MSG_DONTWAIT) == 0) NoteOn("recv", fd))
PASS_ON(ssize_t, send, (int fd, const void* from, size_t size, int flags),
        (fd, from, size, flags),
        if ((flags & MSG_DONTWAIT) == 0) NoteOn("send", fd))
PASS_ON(ssize_t, recvmsg, (int fd, msghdr* to, int flags), (fd, to, flags),
        if ((flags & MSG_DONTWAIT) == 0) NoteOn("recvmsg", fd))
PASS_ON(ssize_t, sendmsg, (int fd, const msghdr* from, int flags),
        (fd, from, flags),
        if ((flags & MSG_DONTWAIT) == 0) NoteOn("sendmsg", fd))

#define OPEN(name, before, first)                                 \
  int name(before const char* path, int flags, ...) {             \
    using Open = int (*)(before const char*, int, mode_t);        \
    static const auto next = reinterpret_cast<Open>(Next(#name)); \
    va_list more;                                                 \
    va_start(more, flags);                                        \
    const mode_t mode = va_arg(more, mode_t);                     \
    va_end(more);                                                 \
    Note("open", path);                                           \
    return next(first path, flags, mode);                         \
  }
#define FOLDER int folder,
#define ITS_FOLDER folder,
#define NOTHING
OPEN(open, NOTHING, NOTHING)
OPEN(open64, NOTHING, NOTHING)
OPEN(openat, FOLDER, ITS_FOLDER)
OPEN(openat64, FOLDER, ITS_FOLDER)

int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                addrinfo** found) {
  using Find = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto next = reinterpret_cast<Find>(Next("getaddrinfo"));
  Note("getaddrinfo", host == nullptr ? "" : host);
  const char* const names = getenv("KAMINO_TEST_NAMES");
  if (host == nullptr || names == nullptr) {
    return next(host, service, hints, found);
  }
  const std::string number = NumberOf(host, names);
  if (number.empty()) return next(host, service, hints, found);
  AwaitAnswer(names);
  return next(number.c_str(), service, hints, found);
}

int getnameinfo(const sockaddr* address, socklen_t size, char* host,
                socklen_t host_size, char* service, socklen_t service_size,
                int flags) {
  using Find = int (*)(const sockaddr*, socklen_t, char*, socklen_t, char*,
                       socklen_t, int);
  static const auto next = reinterpret_cast<Find>(Next("getnameinfo"));
  if ((flags & NI_NUMERICHOST) == 0) Note("getnameinfo", "");
  return next(address, size, host, host_size, service, service_size, flags);
}

}  // extern "C"
