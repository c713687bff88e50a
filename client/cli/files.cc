#include "client/cli/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::client {
namespace {

absl::Status CannotRead(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot read ", NameOf(path), ": ", why));
}

// Calls `take` with one part of the file after the other, none of them empty.
absl::Status ReadParts(
    const std::string& path,
    absl::FunctionRef<absl::Status(absl::string_view)> take) {
  const bool standard_input = path == "-";
  const int fd =
      standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return CannotRead(path, std::strerror(errno));
  const auto closed = absl::MakeCleanup([&] {
    if (!standard_input) close(fd);
  });
  char part[1 << 16];
  for (;;) {
    const ssize_t got = read(fd, part, sizeof(part));
    if (got == 0) return absl::OkStatus();
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path, std::strerror(errno));
    RETURN_IF_ERROR(take(absl::string_view(part, static_cast<size_t>(got))));
  }
}

constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

// Removes the byte order mark and line ends that other systems write. An
// ambiguous CR is an error: to drop or keep it silently could change a value.
class LineEnds {
 public:
  LineEnds(const std::string& path, OddCr odd) : path_(path), odd_(odd) {}

  // Strips the next line. `ended`: an LF followed it.
  absl::Status TakeOff(bool ended, std::string* line) {
    ++number_;
    if (number_ == 1 && absl::StartsWith(*line, kByteOrderMark)) {
      line->erase(0, kByteOrderMark.size());
    }
    if (ended) {
      const bool by_two = absl::EndsWith(*line, "\r");
      if (number_ == 1) by_two_ = by_two;
      if (by_two != by_two_ && odd_ == OddCr::kIsAnError) {
        return Wrong(by_two ? "it ends in CR LF, and line 1 in LF"
                            : "it ends in LF, and line 1 in CR LF");
      }
      if (by_two && by_two_) line->pop_back();
    }
    if (odd_ == OddCr::kStays || line->find('\r') == std::string::npos) {
      return absl::OkStatus();
    }
    return Wrong("it contains a CR that ends no line");
  }

 private:
  absl::Status Wrong(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(path_), " line ", number_, ": ", what,
                     "; in tsv a value's own CR is written as \\r"));
  }

  const std::string& path_;
  const OddCr odd_;
  uint64_t number_ = 0;
  bool by_two_ = false;
};

}  // namespace

std::string NameOf(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t most,
                                     absl::string_view too_large) {
  std::string bytes;
  RETURN_IF_ERROR(ReadParts(path, [&](absl::string_view part) {
    bytes.append(part.data(), part.size());
    if (bytes.size() <= most) return absl::OkStatus();
    return CannotRead(
        path, absl::StrCat("it has over ", most, " bytes, ", too_large));
  }));
  return bytes;
}

absl::Status ReadLines(const std::string& path, OddCr odd,
                       absl::FunctionRef<absl::Status(std::string)> take) {
  LineEnds ends(path, odd);
  std::string line;
  RETURN_IF_ERROR(ReadParts(path, [&](absl::string_view part) {
    for (size_t end; (end = part.find('\n')) != absl::string_view::npos;) {
      line.append(part.data(), end);
      part.remove_prefix(end + 1);
      RETURN_IF_ERROR(ends.TakeOff(/*ended=*/true, &line));
      RETURN_IF_ERROR(take(std::exchange(line, "")));
    }
    line.append(part.data(), part.size());
    return absl::OkStatus();
  }));
  if (line.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(ends.TakeOff(/*ended=*/false, &line));
  return line.empty() ? absl::OkStatus() : take(std::move(line));
}

}  // namespace kamino::client
