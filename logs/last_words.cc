#include "logs/last_words.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "absl/debugging/stacktrace.h"
#include "absl/debugging/symbolize.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "logs/output.h"

namespace kamino::logs {
namespace {

constexpr int kExitFailure = 1;
constexpr int kMostFrames = 24;
constexpr size_t kMostName = 160;  // of a function's name
const int64_t kLongestNanos = absl::ToInt64Nanoseconds(kLongestDrain);

// The state of the last line.
enum class Last { kNone, kClaimed, kSaid };
std::atomic<Last> last{Last::kNone};

const LineWriter* writer = nullptr;
bool as_json = false;
// The source of the log in a JSON line, which follows the time.
char json_origin[512];

int64_t MonotonicNanos() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The rest of kLongestDrain, which begins with the first call.
int MillisecondsLeft() {
  static std::atomic<int64_t> end{0};
  const int64_t now = MonotonicNanos();
  int64_t none = 0;
  end.compare_exchange_strong(none, now + kLongestNanos);
  return static_cast<int>((std::max(end.load(), now) - now) / 1'000'000);
}

void WaitAMoment() {
  const timespec moment = {0, 1'000'000};
  nanosleep(&moment, nullptr);
}

void Write(const Output& output, const char* bytes, size_t size) {
  while (size > 0) {
    if (!output.AwaitRoom(MillisecondsLeft())) return;
    const ssize_t written = output.Write(bytes, size);
    if (written < 0 && (errno == EINTR || errno == EAGAIN) &&
        MillisecondsLeft() > 0) {
      continue;
    }
    if (written <= 0) return;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
}

// Text of bounded length, made with async-signal-safe functions only.
class Text {
 public:
  void Add(const char* text) {
    while (*text != '\0' && size_ < sizeof(bytes_)) bytes_[size_++] = *text++;
  }
  void AddNumber(uint64_t number, int base = 10, int digits = 1) {
    char reversed[24];
    int size = 0;
    for (; number > 0 || size < digits; number /= base) {
      reversed[size++] = "0123456789abcdef"[number % base];
    }
    while (size > 0 && size_ < sizeof(bytes_)) {
      bytes_[size_++] = reversed[--size];
    }
  }
  // As in a JSON string; the text is ASCII.
  void AddEscaped(const char* text) {
    for (; *text != '\0'; ++text) {
      const char one[] = {*text, '\0'};
      if (*text == '"' || *text == '\\') Add("\\");
      Add(*text >= 0x20 ? one : " ");
    }
  }
  // The present time in RFC 3339, in UTC: gmtime may take a lock.
  void AddTime() {
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t days = now.tv_sec / 86400;
    const int64_t second = now.tv_sec % 86400;
    // Years of 146097 days in 400 begin in March, so that leap days are last.
    const int64_t shifted = days + 719468;
    const int64_t era = shifted / 146097;
    const int64_t of_era = shifted % 146097;
    const int64_t year =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    const int64_t march = (5 * of_year + 2) / 153;
    const int64_t month = march < 10 ? march + 3 : march - 9;
    AddNumber(year + era * 400 + (month <= 2 ? 1 : 0), 10, 4);
    Add("-");
    AddNumber(month, 10, 2);
    Add("-");
    AddNumber(of_year - (153 * march + 2) / 5 + 1, 10, 2);
    Add("T");
    AddNumber(second / 3600, 10, 2);
    Add(":");
    AddNumber(second / 60 % 60, 10, 2);
    Add(":");
    AddNumber(second % 60, 10, 2);
    Add(".");
    AddNumber(now.tv_nsec / 1000, 10, 6);
    Add("Z");
  }
  void DropNewline() {
    if (size_ > 0 && bytes_[size_ - 1] == '\n') --size_;
  }
  void WriteLine() {
    if (size_ == sizeof(bytes_)) --size_;
    bytes_[size_++] = '\n';
    WriteAtEnd(bytes_, size_);
  }
  const char* text() {
    bytes_[size_ < sizeof(bytes_) ? size_ : size_ - 1] = '\0';
    return bytes_;
  }

 private:
  char bytes_[8192];
  size_t size_ = 0;
};

void WriteLine(const char* severity, const char* why) {
  Text line;
  if (!as_json) {
    line.Add(why);
    return line.WriteLine();
  }
  line.Add("{\"time\":\"");
  line.AddTime();
  line.Add("\",\"severity\":\"");
  line.Add(severity);
  line.Add("\"");
  line.Add(json_origin);
  line.Add(",\"message\":\"");
  line.AddEscaped(why);
  line.Add("\"}");
  line.WriteLine();
}

void AddStack(int skip, Text* text) {
  void* frames[kMostFrames];
  const int depth = absl::GetStackTrace(frames, kMostFrames, skip);
  text->Add("stack:");
  for (int i = 0; i < depth; ++i) {
    char name[kMostName];
    text->Add(i == 0 ? " " : " < ");
    if (absl::Symbolize(frames[i], name, sizeof(name))) {
      text->Add(name);
    } else {
      text->Add("0x");
      text->AddNumber(reinterpret_cast<uintptr_t>(frames[i]), 16);
    }
  }
}

// --- Out of memory: nothing can be allocated.

[[noreturn]] void EndWithoutMemory() {
  WriteLastWords(
      "out of memory: the process reached its memory limit and ends; raise the "
      "limit (ulimit, the container's limit), or reduce the clients' "
      "concurrent calls");
  _exit(kExitFailure);
}

bool MayHaveNoMemory() {
  constexpr size_t kSome = 16u << 20;
  void* some = mmap(nullptr, kSome, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (some == MAP_FAILED) return errno == ENOMEM;
  munmap(some, kSome);
  return false;
}

// --- Signals.

void SayEndedBy(int number, const siginfo_t* info) {
  Text why;
  why.Add("ended by SIG");
  const char* name = sigabbrev_np(number);
  why.Add(name != nullptr ? name : "?");
  // abort() sends it to its own process.
  const bool by_itself = info->si_code > 0 || info->si_pid == getpid();
  if (!by_itself) {
    why.Add(", sent by process ");
    why.AddNumber(static_cast<uint64_t>(info->si_pid));
  } else if (info->si_code > 0) {
    why.Add(" at address 0x");
    why.AddNumber(reinterpret_cast<uintptr_t>(info->si_addr), 16);
  }
  if (by_itself && last.load() == Last::kNone) {
    Text stack;
    AddStack(/*skip=*/3, &stack);
    WriteLine("ERROR", stack.text());
  }
  WriteLastWords(why.text());
}

// gRPC's C code aborts without a message when malloc fails, and writes to
// slices without checking. If the process aborts or accesses a null pointer
// while no memory can be allocated, the last line therefore blames the lack of
// memory. Any other fault ends the process as if there were no handler: the
// instruction is executed again, or a signal that was sent is raised again.
void OnSignal(int number, siginfo_t* info, void*) {
  constexpr uintptr_t kBehindNull = 64u << 10;
  const bool sent = info->si_code <= 0;
  const bool of_null = number == SIGSEGV && !sent &&
                       reinterpret_cast<uintptr_t>(info->si_addr) < kBehindNull;
  if ((of_null || number == SIGABRT) && MayHaveNoMemory()) EndWithoutMemory();
  SayEndedBy(number, info);
  // abort() continues, and ends the process. A signal of another process, such
  // as systemd's watchdog, is raised again.
  if (number == SIGABRT && info->si_pid == getpid()) return;
  signal(number, SIG_DFL);
  if (sent) raise(number);
}

[[noreturn]] void OnTerminate() {
  // The handler of SIGABRT checks whether memory was exhausted.
  const std::exception_ptr exception = std::current_exception();
  if (exception != nullptr) {
    Text why;
    try {
      std::rethrow_exception(exception);
    } catch (const std::exception& caught) {
      why.Add("ended by an uncaught exception: ");
      why.Add(caught.what());
    } catch (...) {
      why.Add("ended by an uncaught exception");
    }
    Text stack;
    AddStack(/*skip=*/1, &stack);
    WriteLine("ERROR", stack.text());
    WriteLastWords(why.text());
  }
  abort();
}

void Handle(int number) {
  struct sigaction before = {};
  if (sigaction(number, nullptr, &before) != 0) return;
  if (before.sa_handler != SIG_DFL) return;
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  // Not SA_RESETHAND: a fault of another thread would end the process before
  // the first one's line is written.
  action.sa_flags = SA_SIGINFO;
  sigaction(number, &action, nullptr);
}

}  // namespace

void ExpectLastWords(const Origin& origin, bool json,
                     const LineWriter* writes) {
  as_json = json;
  writer = writes;
  std::string fields;
  for (const auto& [name, value] : {std::pair("program", &origin.program),
                                    std::pair("cluster", &origin.cluster),
                                    std::pair("node", &origin.node)}) {
    // An invalid origin is refused before the process serves.
    if (value->empty() || value->find_first_of("\"\\\n") != value->npos) {
      continue;
    }
    absl::StrAppend(&fields, ",\"", name, "\":\"", *value, "\"");
  }
  if (fields.size() < sizeof(json_origin)) {
    memcpy(json_origin, fields.c_str(), fields.size() + 1);
  }
  // Loads the symbol tables while this can still fail safely.
  absl::InitializeSymbolizer(nullptr);
  static_cast<void>(CurrentStack());
  std::set_new_handler(EndWithoutMemory);
  std::set_terminate(OnTerminate);
  for (int number :
       {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGTRAP, SIGQUIT,
        SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGUSR1, SIGUSR2}) {
    Handle(number);
  }
}

void WriteAtEnd(const char* bytes, size_t size) {
  if (writer == nullptr) {
    const Output output(STDERR_FILENO);
    return Write(output, bytes, size);
  }
  // Queued lines come first, unless the thread that writes them has the fault.
  while (writer->IsWriting() && !writer->IsOwnThread() &&
         MillisecondsLeft() > 0) {
    WaitAMoment();
  }
  Write(writer->output(), bytes, size);
}

void WriteLastWords(const char* why) {
  Last none = Last::kNone;
  if (!last.compare_exchange_strong(none, Last::kClaimed)) {
    // The process must not end before the other thread's line is written.
    while (last.load() == Last::kClaimed && MillisecondsLeft() > 0) {
      WaitAMoment();
    }
    return;
  }
  Text text;
  text.Add(why);
  text.DropNewline();
  WriteLine("FATAL", text.text());
  last = Last::kSaid;
}

void ClaimLastWords() {
  Last none = Last::kNone;
  last.compare_exchange_strong(none, Last::kClaimed);
}

void NoteLastWords() { last = Last::kSaid; }

std::string CurrentStack() {
  Text text;
  AddStack(/*skip=*/2, &text);
  return text.text();
}

}  // namespace kamino::logs
