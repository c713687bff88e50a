// kamino_check: checks a node's data while the node does not run, and prints
// what is wrong with it. `kamino check` runs it. docs/operate/check.md.
#include <signal.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/escape.h"
#include "base/standard_files.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "node/check/check_media.h"
#include "node/check/node_check.h"
#include "proto/version.h"

namespace kamino::node {
namespace {

constexpr int kSound = 0;
constexpr int kFindings = 1;
constexpr int kNotExamined = 2;

constexpr uint64_t kMostPrinted = 10000;

constexpr char kUsage[] =
    R"(kamino check [--json] PATH

Looks at the data of a node that does not run: PATH is its data folder
(--data_dir), or its device (--device). Prints a line for each thing that is
wrong, and never changes a byte.
Exit codes: 0 sound, 1 something is wrong, or what is found could not be
written, 2 it could not be examined.
)";

using Fields = google::protobuf::Map<std::string, google::protobuf::Value>;

void PrintJson(const google::protobuf::Struct& object, std::ostream* out) {
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(object, &json).ok()) {
    json = "{\"error\": \"a text is not UTF-8\"}";
  }
  *out << json << "\n";
}

// On stderr, in the format of `kamino`.
int Fail(const absl::Status& status, bool json, int exit_code) {
  if (!json) {
    std::cerr << "kamino check: " << Printable(status.message()) << "\n";
    return exit_code;
  }
  google::protobuf::Struct object;
  Fields& error = *(*object.mutable_fields())["error"]
                       .mutable_struct_value()
                       ->mutable_fields();
  error["code"].set_string_value(absl::StatusCodeToString(status.code()));
  error["reason"].set_string_value("");
  error["message"].set_string_value(ToUtf8(status.message()));
  PrintJson(object, &std::cerr);
  return exit_code;
}

// Flushes standard output. Returns false, and reports the error, if that fails.
bool Written(bool json) {
  errno = 0;
  std::cout.flush();
  if (std::cout.good()) return true;
  // An earlier write may have failed: then its error number is unknown here.
  std::string text = "cannot write to standard output";
  if (errno != 0) absl::StrAppend(&text, ": ", std::strerror(errno));
  Fail(absl::FailedPreconditionError(text), json, kFindings);
  return false;
}

int FailUsage(const std::string& message, bool json) {
  Fail(absl::InvalidArgumentError(message), json, kNotExamined);
  if (!json) std::cerr << kUsage;
  return kNotExamined;
}

void PrintFinding(const CheckFinding& finding, bool json) {
  if (!json) {
    std::cout << absl::StrCat(Printable(finding.region), " at ", finding.offset,
                              ": ", Printable(finding.what), "\n");
    return;
  }
  google::protobuf::Struct object;
  Fields& fields = *object.mutable_fields();
  fields["region"].set_string_value(ToUtf8(finding.region));
  fields["offset"].set_string_value(absl::StrCat(finding.offset));
  fields["what"].set_string_value(ToUtf8(finding.what));
  PrintJson(object, &std::cout);
}

void PrintReport(const CheckReport& report, bool json) {
  if (json) {
    google::protobuf::Struct object;
    Fields& fields = *object.mutable_fields();
    fields["label"].set_string_value(ToUtf8(report.label));
    fields["sound"].set_bool_value(report.findings == 0);
    fields["formatted"].set_bool_value(report.formatted);
    fields["restoring"].set_bool_value(report.restoring);
    const auto number = [&fields](const char* name, uint64_t value) {
      fields[name].set_string_value(absl::StrCat(value));
    };
    number("findings", report.findings);
    number("interrupted", report.interrupted);
    number("objects", report.objects);
    number("clients", report.clients);
    number("sessions", report.sessions);
    number("pages", report.pages);
    number("blocks", report.blocks);
    number("block_bytes", report.block_bytes);
    number("blockBytes", report.block_bytes);  // the former name
    number("received", report.received);
    number("applied", report.applied);
    number("cleaned", report.cleaned);
    return PrintJson(object, &std::cout);
  }
  std::cout << absl::StrCat(
      report.label.empty() ? "?" : Printable(report.label), ": ",
      report.objects, " objects, ", report.clients, " outcomes, ",
      report.sessions, " sessions, ", report.pages, " pages; ", report.blocks,
      " blocks of ", report.block_bytes, " bytes; log applied to ",
      report.applied, " of ", report.received, "\n");
  if (report.restoring) {
    std::cout << "a backup was being restored into it\n";
  }
  if (report.interrupted > 0) {
    std::cout << (report.interrupted == 1
                      ? "1 change was interrupted: the node completes it or "
                        "rolls it back when it starts\n"
                      : absl::StrCat(report.interrupted,
                                     " changes were interrupted: the node "
                                     "completes them or rolls them back when "
                                     "it starts\n"));
  }
  std::cout << (report.findings == 0 ? std::string("sound\n")
                : report.findings == 1
                    ? std::string("1 thing is wrong\n")
                    : absl::StrCat(report.findings, " things are wrong\n"));
}

bool IsJson(absl::string_view word) {
  return word == "--json" || word == "--output=json";
}

int Main(int argc, char** argv) {
  bool json = false;
  for (int i = 1; i < argc; ++i) json |= IsJson(argv[i]);
  std::string path;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (IsJson(word)) {
      continue;
    } else if (word == "--help") {
      std::cout << kUsage;
      return Written(json) ? kSound : kNotExamined;
    } else if (word == "--version") {
      std::cout << "kamino_check " << kVersion << "\n";
      return Written(json) ? kSound : kNotExamined;
    } else if (path.empty() && !word.empty() && word[0] != '-') {
      path = word;
    } else {
      return FailUsage(absl::StrCat("unexpected argument ", word), json);
    }
  }
  if (path.empty()) return FailUsage("it needs a PATH", json);
  auto media = CheckMedia::Open(path);
  if (!media.ok()) {
    return Fail(media.status(), json, kNotExamined);
  }
  uint64_t printed = 0;
  const CheckReport report =
      CheckNode(**media, [&](const CheckFinding& finding) {
        if (printed++ < kMostPrinted) PrintFinding(finding, json);
      });
  if (printed > kMostPrinted) {
    std::cerr << "kamino check: " << printed - kMostPrinted
              << " more are not shown\n";
  }
  PrintReport(report, json);
  if (!Written(json)) return kFindings;
  return report.findings == 0 ? kSound : kFindings;
}

}  // namespace
}  // namespace kamino::node

int main(int argc, char** argv) {
  kamino::OccupyStandardFiles();
  // A failed write of output becomes an error that is reported.
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  return kamino::node::Main(argc, argv);
}
