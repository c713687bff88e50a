#include "client/cli/cli.h"

#include <unistd.h>

#include <iostream>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/error.h"
#include "google/protobuf/util/json_util.h"

ABSL_FLAG(int, outstanding, 64, "load, bench: calls under way at once.");

namespace kamino::client {
namespace {

constexpr int kBarWidth = 30;

}  // namespace

int Fail(const absl::Status& status) {
  const kamino::v1::Reason reason = ReasonOf(status);
  std::cerr << "kamino: " << status.message();
  if (reason != kamino::v1::REASON_UNSPECIFIED) {
    std::cerr << " [" << kamino::v1::Reason_Name(reason) << "]";
  }
  std::cerr << "\n";
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return kExitNoAnswer;
    default:
      return kExitFailed;
  }
}

int FailUsage(absl::string_view usage) {
  std::cerr << "kamino: usage: " << usage << "\n";
  return kExitUsage;
}

void PrintJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto printed =
      google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!printed.ok()) {
    std::cerr << "kamino: " << printed.ToString() << "\n";
    return;
  }
  std::cout << text << "\n";
}

bool ParseNumber(absl::string_view text, uint64_t* number) {
  return absl::SimpleAtoi(text, number);
}

absl::StatusOr<int> Outstanding() {
  const int outstanding = absl::GetFlag(FLAGS_outstanding);
  const int most = ClientOptions().max_outstanding;
  if (outstanding >= 1 && outstanding <= most) return outstanding;
  return absl::InvalidArgumentError(
      absl::StrCat("--outstanding: from 1 to ", most));
}

Progress::Progress(std::string what, uint64_t total)
    : what_(std::move(what)), total_(total), terminal_(isatty(2) == 1) {}

void Progress::Show(uint64_t done) {
  const int percent = total_ == 0 ? 100 : static_cast<int>(done * 100 / total_);
  const int step = terminal_ ? 1 : 10;
  if (percent / step == shown_ / step && shown_ >= 0) return;
  shown_ = percent;
  if (!terminal_) {
    std::cerr << absl::StrCat(what_, ": ", done, " of ", total_, " (", percent,
                              "%)\n");
    return;
  }
  const int filled = kBarWidth * percent / 100;
  std::cerr << absl::StrCat("\r", what_, " [", std::string(filled, '#'),
                            std::string(kBarWidth - filled, '.'), "] ", done,
                            "/", total_, percent == 100 ? "\n" : "");
  std::cerr.flush();
}

}  // namespace kamino::client
