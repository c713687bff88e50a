#include "bench/service/terminals.h"

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/engine/tpcc_terminal.h"
#include "bench/service/recorder.h"

namespace kamino::bench::service {
namespace {

// The tables as objects of one ordered space of keys.
class ObjectRows final : public tpcc::Rows {
 public:
  explicit ObjectRows(Objects* objects) : objects_(objects) {}

  absl::Status Delete(tpcc::Table table, absl::string_view key) override {
    objects_->Delete(KeyIn(table, key));
    return absl::OkStatus();
  }

  absl::Status Scan(tpcc::Table table, absl::string_view begin,
                    absl::string_view end, uint64_t limit,
                    Visit visit) override {
    uint64_t seen = 0;
    return objects_->Scan(KeyIn(table, begin), KeyIn(table, end),
                          [&](absl::string_view key, absl::string_view row) {
                            key.remove_prefix(kPrefix);
                            return visit(key, row) && ++seen != limit;
                          });
  }

  void Expect(tpcc::Table table, absl::Span<const std::string> keys) override {
    std::vector<std::string> all;
    for (const std::string& key : keys) all.push_back(KeyIn(table, key));
    objects_->Expect(all);
  }

 private:
  static constexpr size_t kPrefix = 6;

  static std::string KeyIn(tpcc::Table table, absl::string_view key) {
    return absl::StrCat("tpcc/", std::string(1, static_cast<char>('a' + table)),
                        key);
  }

  absl::Status Read(tpcc::Table table, absl::string_view key,
                    absl::Span<char> row) override {
    const auto found = objects_->Get(KeyIn(table, key));
    if (!found.ok()) return found.status();
    if (!found->has_value()) return absl::NotFoundError("no such row");
    return Copy(**found, row);
  }
  absl::Status Write(tpcc::Table table, absl::string_view key,
                     absl::string_view row) override {
    objects_->Put(KeyIn(table, key), row);
    return absl::OkStatus();
  }
  absl::Status Patch(tpcc::Table table, absl::string_view key, uint64_t offset,
                     absl::string_view bytes) override {
    return objects_->Patch(KeyIn(table, key), offset, bytes);
  }

  Objects* const objects_;
};

absl::Status TransactOn(Subject* subject, tpcc::Body body) {
  return subject->Transact([&body](Objects& objects) {
    ObjectRows rows(&objects);
    return body(rows);
  });
}

constexpr uint64_t kMostTerminals = 1024;

bool Writes(int kind) {
  return kind == kNewOrder || kind == kPayment || kind == kDelivery;
}

}  // namespace

absl::Status LoadTpcc(Subject* subject, const TpccScale& scale) {
  return tpcc::LoadTables(
      [subject](tpcc::Body body) { return TransactOn(subject, body); }, scale);
}

absl::Status CheckTpcc(Subject* subject, const TpccScale& scale) {
  return tpcc::CheckTables(
      [subject](tpcc::Body body) { return TransactOn(subject, body); }, scale);
}

Outcome RunTerminals(Subject* subject, const TpccScale& scale, int terminals,
                     uint64_t seed, const Window& window) {
  Recorder recorder;
  std::atomic<bool> stop{false};
  const auto work = [&](uint64_t number) {
    const uint64_t writer = seed * kMostTerminals + number;
    uint32_t history = 0;
    tpcc::Terminal terminal(
        scale, /*mix=*/true,
        static_cast<uint32_t>(number % scale.warehouses) + 1,
        tpcc::HistoryNumbers{static_cast<uint32_t>(writer) + 1, &history},
        FnvHash(writer));
    for (bool well = true; well && !stop.load();) {
      const int kind = terminal.Draw();
      const Nanos begin = NowNanos();
      const absl::Status done = terminal.Run(
          [subject](tpcc::Body body) { return TransactOn(subject, body); });
      recorder.Ended(begin, NowNanos(), Writes(kind), done);
      well = done.ok();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < terminals; ++i) {
    threads.emplace_back(work, static_cast<uint64_t>(i));
  }
  recorder.Watch(window);
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  return recorder.Take();
}

}  // namespace kamino::bench::service
