// Lists: transactions that read some and append to some. A list is an object
// that holds its elements, unique ones, in order.
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/client.h"
#include "client/transaction.h"
#include "tests/chaos/client/generations.h"
#include "tests/chaos/client/workload.h"

namespace kamino::chaos {
namespace {

constexpr int kLists = 6;
constexpr int kMaxParts = 4;  // of a transaction
constexpr int kReadsAtOnce = 8;
constexpr absl::Duration kLasts = absl::Seconds(3);

struct Part {
  std::string key;
  int64_t append;      // 0: a read
  std::string result;  // of a read: the elements as JSON
};

std::string PartsAsJson(const std::vector<Part>& parts, bool done) {
  std::vector<std::string> texts;
  for (const Part& part : parts) {
    texts.push_back(part.append != 0
                        ? absl::StrCat("[\"append\",", Quoted(part.key), ",",
                                       part.append, "]")
                        : absl::StrCat("[\"r\",", Quoted(part.key), ",",
                                       done ? part.result : "null", "]"));
  }
  return absl::StrCat("\"value\":[", absl::StrJoin(texts, ","), "]");
}

class Lists : public Workload {
 public:
  Lists(client::Client* client, HistoryLog* log, Place place)
      : client_(client), log_(log), place_(place) {}

  void Step(Process* process, absl::BitGen& random) override {
    std::vector<Part> parts(absl::Uniform(random, 1, kMaxParts + 1));
    for (Part& part : parts) {
      part.key = names_.Use(absl::Uniform(random, 0, names_.slots()));
      part.append = absl::Bernoulli(random, 0.5) ? NextElement() : 0;
    }
    Run(process, &parts);
  }

  absl::Status ReadAll(Process* process) override {
    const std::vector<std::string> all = names_.All();
    for (size_t i = 0; i < all.size(); i += kReadsAtOnce) {
      std::vector<Part> parts;
      for (size_t j = i; j < all.size() && j < i + kReadsAtOnce; ++j) {
        parts.push_back({all[j], 0, ""});
      }
      if (Run(process, &parts) != End::kOk) {
        return absl::UnavailableError(absl::StrCat("cannot read ", all[i]));
      }
    }
    return absl::OkStatus();
  }

 private:
  // Unique among the elements of all clients.
  int64_t NextElement() { return ++elements_ * place_.clients + place_.client; }

  End Run(Process* process, std::vector<Part>* parts) {
    log_->Call(*process, PartsAsJson(*parts, false));
    const absl::Status done = client_->RunTransaction(
        [&](client::Transaction& transaction) -> absl::Status {
          for (Part& part : *parts) {
            auto list = transaction.Get(part.key);
            if (!list.ok()) return list.status();
            const std::string elements = list->value_or("");
            if (part.append == 0) {
              part.result = absl::StrCat("[", elements, "]");
              continue;
            }
            transaction.Put(part.key,
                            elements.empty()
                                ? absl::StrCat(part.append)
                                : absl::StrCat(elements, ",", part.append));
          }
          return absl::OkStatus();
        });
    const End end = EndOf(done);
    log_->Return(process, end, PartsAsJson(*parts, end == End::kOk));
    return end;
  }

  client::Client* const client_;
  HistoryLog* const log_;
  const Place place_;
  Generations names_{"l", kLists, kLasts};
  std::atomic<int64_t> elements_{0};
};

}  // namespace

std::unique_ptr<Workload> MakeLists(client::Client* client, HistoryLog* log,
                                    Place place) {
  return std::make_unique<Lists>(client, log, place);
}

}  // namespace kamino::chaos
