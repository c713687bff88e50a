// Registers: single objects, read, written, compared, patched and deleted.
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/chaos/client/generations.h"
#include "tests/chaos/client/workload.h"

namespace kamino::chaos {
namespace {

constexpr int kRegisters = 5;
constexpr absl::Duration kLasts = absl::Seconds(4);
constexpr int kPatchBytes = 4;
constexpr int kValueBytes = 16;

std::string JsonOf(const std::optional<std::string>& value) {
  return value.has_value() ? Quoted(*value) : "null";
}

class Registers : public Workload {
 public:
  Registers(client::Client* client, HistoryLog* log, Place place)
      : client_(client), log_(log), place_(place) {}

  void Step(Process* process, absl::BitGen& random) override {
    const std::string key =
        names_.Use(absl::Uniform(random, 0, names_.slots()));
    const int dice = absl::Uniform(random, 0, 100);
    if (dice < 35) {
      Get(process, key);
    } else if (dice < 60) {
      Put(process, key);
    } else if (dice < 80) {
      CompareAndSet(process, key);
    } else if (dice < 95) {
      Patch(process, key,
            absl::Uniform(random, 0, kValueBytes - kPatchBytes + 1));
    } else {
      Delete(process, key);
    }
  }

  absl::Status ReadAll(Process* process) override {
    for (const std::string& key : names_.All()) {
      if (Get(process, key) != End::kOk) {
        return absl::UnavailableError(absl::StrCat("cannot read ", key));
      }
    }
    return absl::OkStatus();
  }

 private:
  // The value that this process read or put last: comparisons with it may hold.
  struct Register {
    std::optional<std::string> value;
    uint64_t version = 0;  // 0: absent
  };
  using Seen = std::map<std::string, Register>;
  static Seen& LastSeen() {
    thread_local Seen seen;
    if (seen.size() > 4 * kRegisters) seen.clear();
    return seen;
  }

  std::string NextValue() {
    // Unique among the values of all clients.
    return absl::StrFormat("%0*d", kValueBytes,
                           ++values_ * place_.clients + place_.client);
  }

  static std::string Fields(absl::string_view operation,
                            const std::string& key) {
    return absl::StrCat("\"op\":\"", operation, "\",\"key\":", Quoted(key));
  }

  End Get(Process* process, const std::string& key) {
    log_->Call(*process, Fields("get", key));
    auto got = client_->Get(key);
    const bool absent = absl::IsNotFound(got.status());
    if (!got.ok() && !absent) {
      log_->Return(process, End::kFail, "");
      return End::kFail;
    }
    Register seen;
    if (!absent) seen = {got->value(), got->version()};
    log_->Return(process, End::kOk,
                 absl::StrCat("\"value\":", JsonOf(seen.value),
                              absent ? "" : VersionField(got->version())));
    LastSeen()[key] = std::move(seen);
    return End::kOk;
  }

  void Put(Process* process, const std::string& key) {
    const std::string value = NextValue();
    log_->Call(*process,
               absl::StrCat(Fields("put", key), ",\"value\":", Quoted(value)));
    auto done = client_->Put(key, value);
    if (!done.ok()) return log_->Return(process, EndOf(done.status()), "");
    const uint64_t version = done->header().sequence();
    log_->Return(process, End::kOk, VersionField(version).substr(1));
    LastSeen()[key] = {value, version};
  }

  void CompareAndSet(Process* process, const std::string& key) {
    const auto seen = LastSeen().find(key);
    if (seen == LastSeen().end()) {
      Get(process, key);
      return;
    }
    const Register expect = seen->second;
    const bool by_version = expect.value.has_value() && ByVersion();
    const std::string value = NextValue();
    kamino::v1::CommitRequest request;
    auto* condition = request.add_preconditions();
    condition->set_key(key);
    if (by_version) {
      condition->set_version_equals(expect.version);
    } else if (expect.value.has_value()) {
      condition->set_value_equals(*expect.value);
    } else {
      condition->set_exists(false);
    }
    auto* put = request.add_then_operations()->mutable_put();
    put->set_key(key);
    put->set_value(value);
    log_->Call(
        *process,
        absl::StrCat(Fields("cas", key),
                     by_version
                         ? absl::StrCat(",\"expect_version\":", expect.version)
                         : absl::StrCat(",\"expect\":", JsonOf(expect.value)),
                     ",\"value\":", Quoted(value)));
    auto done = client_->Commit(std::move(request));
    if (!done.ok() || !done->succeeded()) {
      return log_->Return(process, EndOf(done.status()), "\"done\":false");
    }
    const uint64_t version = done->header().sequence();
    log_->Return(process, End::kOk,
                 absl::StrCat("\"done\":true", VersionField(version)));
    LastSeen()[key] = {value, version};
  }

  void Patch(Process* process, const std::string& key, int offset) {
    const std::string data = NextValue().substr(kValueBytes - kPatchBytes);
    log_->Call(*process, absl::StrCat(Fields("patch", key), ",\"offset\":",
                                      offset, ",\"value\":", Quoted(data)));
    auto done = client_->Patch(key, offset, data);
    ReturnFound(process, done.status(),
                done.ok() ? VersionField(done->header().sequence()) : "");
  }

  void Delete(Process* process, const std::string& key) {
    log_->Call(*process, Fields("delete", key));
    ReturnFound(process, client_->Delete(key).status(), "");
  }

  // An absent key is an answer like any other.
  void ReturnFound(Process* process, const absl::Status& status,
                   absl::string_view version) {
    const bool absent = absl::IsNotFound(status);
    log_->Return(process, absent ? End::kOk : EndOf(status),
                 absent ? std::string("\"found\":false")
                        : absl::StrCat("\"found\":true", version));
  }

  static std::string VersionField(uint64_t version) {
    return absl::StrCat(",\"version\":", version);
  }

  static bool ByVersion() {
    thread_local absl::BitGen random;
    return absl::Bernoulli(random, 0.6);
  }

  client::Client* const client_;
  HistoryLog* const log_;
  const Place place_;
  Generations names_{"r", kRegisters, kLasts};
  std::atomic<int64_t> values_{0};
};

}  // namespace

std::unique_ptr<Workload> MakeRegisters(client::Client* client, HistoryLog* log,
                                        Place place) {
  return std::make_unique<Registers>(client, log, place);
}

}  // namespace kamino::chaos
