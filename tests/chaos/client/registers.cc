// Registers: single objects, read, written, compared, patched and deleted.
#include <atomic>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "tests/chaos/client/generations.h"

namespace kamino::chaos {
namespace {

constexpr int kRegisters = 5;
constexpr int kPatchBytes = 4;
constexpr int kValueBytes = 16;

std::string JsonOf(const absl::optional<std::string>& value) {
  return value.has_value() ? Quoted(*value) : "null";
}

class Registers : public Workload {
 public:
  Registers(client::Client* client, HistoryLog* log)
      : client_(client), log_(log), names_("r", kRegisters, {}) {}

  void Step(Process* process, absl::BitGen& random) override {
    const int slot = absl::Uniform(random, 0, names_.slots());
    const std::string key = names_.Use(slot);
    const int dice = absl::Uniform(random, 0, 100);
    End end;
    if (dice < 35) {
      end = Get(process, key);
    } else if (dice < 60) {
      end = Put(process, key);
    } else if (dice < 80) {
      end = CompareAndSet(process, key);
    } else if (dice < 95) {
      end = Patch(process, key,
                  absl::Uniform(random, 0, kValueBytes - kPatchBytes + 1));
    } else {
      end = Delete(process, key);
    }
    if (end == End::kUnknown) names_.CountUnknown(slot, key);
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
  // What this process has read last: comparisons with it may hold.
  using Seen = std::map<std::string, absl::optional<std::string>>;
  static Seen& LastSeen() {
    thread_local Seen seen;
    if (seen.size() > 4 * kRegisters) seen.clear();
    return seen;
  }

  std::string NextValue() {
    return absl::StrFormat("%0*d", kValueBytes, ++values_);
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
    absl::optional<std::string> value;
    if (!absent) value = got->value();
    log_->Return(process, End::kOk, absl::StrCat("\"value\":", JsonOf(value)));
    LastSeen()[key] = std::move(value);
    return End::kOk;
  }

  End Put(Process* process, const std::string& key) {
    const std::string value = NextValue();
    log_->Call(*process,
               absl::StrCat(Fields("put", key), ",\"value\":", Quoted(value)));
    const End end = EndOf(client_->Put(key, value).status());
    log_->Return(process, end, "");
    return end;
  }

  End CompareAndSet(Process* process, const std::string& key) {
    const auto seen = LastSeen().find(key);
    if (seen == LastSeen().end()) return Get(process, key);
    const absl::optional<std::string> expect = seen->second;
    const std::string value = NextValue();
    kamino::v1::CommitRequest request;
    auto* condition = request.add_preconditions();
    condition->set_key(key);
    if (expect.has_value()) {
      condition->set_value_equals(*expect);
    } else {
      condition->set_exists(false);
    }
    auto* put = request.add_then_operations()->mutable_put();
    put->set_key(key);
    put->set_value(value);
    log_->Call(*process,
               absl::StrCat(Fields("cas", key), ",\"expect\":", JsonOf(expect),
                            ",\"value\":", Quoted(value)));
    auto done = client_->Commit(std::move(request));
    const End end = EndOf(done.status());
    log_->Return(process, end,
                 done.ok() ? absl::StrCat("\"done\":",
                                          done->succeeded() ? "true" : "false")
                           : "");
    return end;
  }

  End Patch(Process* process, const std::string& key, int offset) {
    const std::string data = NextValue().substr(kValueBytes - kPatchBytes);
    log_->Call(*process, absl::StrCat(Fields("patch", key), ",\"offset\":",
                                      offset, ",\"value\":", Quoted(data)));
    return ReturnFound(process, client_->Patch(key, offset, data).status());
  }

  End Delete(Process* process, const std::string& key) {
    log_->Call(*process, Fields("delete", key));
    return ReturnFound(process, client_->Delete(key).status());
  }

  // That the key is absent is an answer like any other.
  End ReturnFound(Process* process, const absl::Status& status) {
    const bool absent = absl::IsNotFound(status);
    const End end = absent ? End::kOk : EndOf(status);
    log_->Return(process, end, absent ? "\"found\":false" : "\"found\":true");
    return end;
  }

  client::Client* const client_;
  HistoryLog* const log_;
  Generations names_;
  std::atomic<int64_t> values_{0};
};

}  // namespace

std::unique_ptr<Workload> MakeRegisters(client::Client* client,
                                        HistoryLog* log) {
  return std::make_unique<Registers>(client, log);
}

}  // namespace kamino::chaos
