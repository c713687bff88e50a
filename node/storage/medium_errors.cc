#include "node/storage/medium_errors.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "engine/pmem/file_region.h"
#include "glog/logging.h"
#include "logs/last_words.h"

namespace kamino::node {
namespace {

// The handler may call only async-signal-safe functions (signal-safety(7)): no
// allocation, no formatting by libraries.

constexpr size_t kMostPath = 4096;

struct Watched {
  char record[kMostPath];
  char folder[kMostPath];  // files of it, or this device
  char device[kMostPath];
  int record_folder = -1;  // open
};
Watched watched;

// Text of bounded length.
class Line {
 public:
  void Add(const char* text) {
    while (*text != '\0' && size_ < sizeof(bytes_) - 1) {
      bytes_[size_++] = *text++;
    }
    bytes_[size_] = '\0';
  }
  void AddNumber(uint64_t number) {
    char digits[24];
    char* begin = digits + sizeof(digits) - 1;
    *begin = '\0';
    do {
      *--begin = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    Add(begin);
  }
  const char* text() const { return bytes_; }
  void WriteTo(int file) const {
    const ssize_t written = write(file, bytes_, size_);
    (void)written;  // an error cannot be reported
  }

 private:
  char bytes_[kMostPath + 256] = {};
  size_t size_ = 0;
};

// One line of /proc/self/maps: begin-end perms offset device inode path.
struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t offset = 0;  // of the file
  const char* path = "";
};

uint64_t TakeHex(const char** text) {
  uint64_t number = 0;
  for (;; ++*text) {
    const char c = **text;
    if (c >= '0' && c <= '9') {
      number = number << 4 | static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      number = number << 4 | static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return number;
    }
  }
}

const char* SkipWord(const char* text) {
  while (*text != '\0' && *text != ' ') ++text;
  while (*text == ' ') ++text;
  return text;
}

Mapping ParseMapping(const char* text) {
  Mapping mapping;
  mapping.begin = TakeHex(&text);
  if (*text == '-') ++text;
  mapping.end = TakeHex(&text);
  text = SkipWord(SkipWord(text));  // the rest of the range, the permissions
  mapping.offset = TakeHex(&text);
  text = SkipWord(SkipWord(SkipWord(text)));  // device, inode
  mapping.path = text;
  return mapping;
}

// Calls `visit` with each line, until it returns true.
template <typename Visit>
void VisitMaps(const Visit& visit) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char line[kMostPath + 128];
  size_t size = 0;
  char piece[512];
  for (bool done = false; !done;) {
    const ssize_t got = read(file, piece, sizeof(piece));
    if (got <= 0) break;
    for (ssize_t i = 0; i < got && !done; ++i) {
      if (piece[i] != '\n') {
        if (size < sizeof(line) - 1) line[size++] = piece[i];
        continue;
      }
      line[size] = '\0';
      size = 0;
      done = visit(ParseMapping(line));
    }
  }
  close(file);
}

bool IsWatched(const char* path) {
  if (watched.device[0] != '\0' && strcmp(path, watched.device) == 0) {
    return true;
  }
  const size_t folder = strlen(watched.folder);
  return folder > 0 && strncmp(path, watched.folder, folder) == 0 &&
         path[folder] == '/' && strstr(path + folder, ".pmem") != nullptr;
}

// Several threads may meet the same damage: each waits in the handler until the
// recording thread has ended the process.
std::atomic<int> inside{0};
std::atomic<bool> busy{false};

void WaitAMoment() {
  const timespec moment = {0, 1'000'000};
  nanosleep(&moment, nullptr);
}

// Finds the file, or the device, of this node that contains the place, and the
// offset.
bool FindPlace(const void* place, Line* line) {
  const auto address = reinterpret_cast<uint64_t>(place);
  bool found = false;
  VisitMaps([&](const Mapping& mapping) {
    if (address < mapping.begin || address >= mapping.end) return false;
    if (!IsWatched(mapping.path)) return true;
    found = true;
    line->Add(mapping.path);
    line->Add(" at byte ");
    line->AddNumber(address - mapping.begin + mapping.offset);
    return true;
  });
  return found;
}

[[noreturn]] void RecordAndEnd(const Line& line) {
  const int file =
      open(watched.record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  bool kept = file >= 0;
  if (kept) {
    line.WriteTo(file);
    kept = fsync(file) == 0;
    close(file);
    // The record's name must be durable as well.
    if (watched.record_folder >= 0) {
      kept = fsync(watched.record_folder) == 0 && kept;
    }
  }
  if (!kept) {
    Line unkept;
    unkept.Add("cannot record this durably in ");
    unkept.Add(watched.record);
    unkept.Add(": do not start this node again on the same files\n");
    logs::WriteAtEnd(unkept.text(), strlen(unkept.text()));
  }
  logs::WriteLastWords(line.text());
  _exit(EXIT_FAILURE);
}

void OnBusError(int, siginfo_t* info, void*) {
  inside.fetch_add(1);
  while (busy.exchange(true)) WaitAMoment();
  Line line;
  line.Add("cannot read ");
  // Another process sent it: there is no address.
  const bool sent = info->si_code <= 0;
  if (sent || !FindPlace(info->si_addr, &line)) {
    // Other threads record their damage first. Then the process ends by the
    // default action: the instruction faults again, or the signal is raised
    // again.
    busy.store(false);
    inside.fetch_sub(1);
    while (inside.load() > 0) WaitAMoment();
    Line why;
    if (sent) {
      why.Add("ended by SIGBUS, sent by process ");
      why.AddNumber(static_cast<uint64_t>(info->si_pid));
    } else {
      why.Add("ended by SIGBUS at an address outside of the node's files");
    }
    logs::WriteLastWords(why.text());
    signal(SIGBUS, SIG_DFL);
    if (sent) raise(SIGBUS);
    return;
  }
  line.Add(info->si_code == BUS_ADRERR ? ": the file is shorter than it was\n"
                                       : ": the memory is damaged\n");
  RecordAndEnd(line);
}

void OnLostWrites(const void* place, const char* path, int error) {
  inside.fetch_add(1);
  while (busy.exchange(true)) WaitAMoment();
  Line line;
  line.Add("cannot write ");
  if (place != nullptr) {
    if (!FindPlace(place, &line)) {
      busy.store(false);
      inside.fetch_sub(1);
      return;
    }
  } else {
    line.Add(path);
  }
  line.Add(": ");
  const char* description = strerrordesc_np(error);
  line.Add(description != nullptr ? description : "an error without a name");
  line.Add("; what was written there before may be lost\n");
  RecordAndEnd(line);
}

std::string RecordIn(const std::string& data_dir) {
  return absl::StrCat(data_dir, "/", kDamageFile);
}

void Copy(absl::string_view text, char* to) {
  CHECK_LT(text.size(), kMostPath) << text;
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\0';
}

// The path as the kernel shows it for a mapping.
void CopyReal(const std::string& path, char* to) {
  char real[PATH_MAX];
  if (path.empty() || realpath(path.c_str(), real) == nullptr) return;
  Copy(real, to);
}

}  // namespace

void RecordMediumErrors(const std::string& data_dir,
                        const std::string& device) {
  Copy(RecordIn(data_dir), watched.record);
  CopyReal(data_dir, watched.folder);
  CopyReal(device, watched.device);
  watched.record_folder =
      open(data_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (watched.record_folder < 0) {
    PLOG(WARNING) << data_dir
                  << ": a power failure may lose the record of damage";
  }
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  // Not SA_RESETHAND: another thread's fault would end the process before the
  // first one is recorded. A fault within the handler ends it, as the signal is
  // blocked.
  action.sa_flags = SA_SIGINFO;
  PCHECK(sigaction(SIGBUS, &action, nullptr) == 0);
  engine::OnLostWrites(OnLostWrites);
}

absl::Status CheckNoDamage(const std::string& data_dir) {
  const std::string name = RecordIn(data_dir);
  struct stat info;
  if (stat(name.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(name,
                     " is not a regular file; remove it: the node keeps its "
                     "record of damage under that name"));
  }
  std::ifstream file(name);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  absl::StrReplaceAll({{"\n", "; "}}, &text);
  // The disk may have been full when it was written.
  if (text.empty()) {
    text = "found a medium that fails, at an unknown place";
  }
  return absl::DataLossError(absl::StrCat(
      name, ": an earlier process of this node ", text,
      ". Nothing is served from these data any more: move all files of the "
      "node away, this one among them, onto a medium that is sound, and start "
      "it again; it joins as a new node"));
}

}  // namespace kamino::node
