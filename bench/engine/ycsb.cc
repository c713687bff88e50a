#include "bench/engine/ycsb.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/index/directory.h"
#include "engine/index/key_value.h"

namespace kamino::bench {
namespace {

using engine::KeyValue;
using engine::KeyValueReader;
using engine::ObjectId;
using engine::Transaction;
using engine::TransactionalStore;

// Records put by one transaction of the load.
constexpr uint64_t kLoadBatch = 16;
// A record's object with its header and its part of a page that is half full,
// in bytes.
constexpr uint64_t kRecordFootprint = 1280;
// The same where the heap is to be full nearly.
constexpr uint64_t kCloseFootprint = 1168;
// Places that inserts take, beside the records.
constexpr uint64_t kInsertRoom = 60'000;
// Per thread and slice, so that inserts find room.
constexpr uint64_t kMaxTransactions = 250'000;

enum How { kZipfian, kUniform, kLatest };

using Record = std::array<char, kYcsbRecordBytes>;

// Printable, as the standard's.
void FillText(Random& random, char* text, size_t length) {
  for (size_t i = 0; i < length; ++i) {
    text[i] = static_cast<char>(' ' + random.Next() % 95);
  }
}

struct Data {
  TransactionalStore* store;
  uint64_t records;
  ObjectId tree;
  Zipfian zipfian;
  RecordCount count;
  Lookups lookups;
  engine::Directory directory;

  KeyValue Records(Transaction* transaction) {
    KeyValue records(transaction, tree);
    if (lookups == Lookups::kByDirectory) records.UseDirectory(&directory);
    return records;
  }
};

class YcsbWorker final : public Worker {
 public:
  YcsbWorker(Data* data, const Cell& cell, uint64_t seed)
      : data_(*data),
        mix_(MixOf(static_cast<char>(cell.what))),
        how_(static_cast<How>(cell.how)),
        random_(seed) {
    FillText(random_, record_.data(), record_.size());
  }

  int Draw() override {
    kind_ = DrawKind(mix_, random_);
    if (kind_ == kYcsbInsert) {
      number_ = data_.count.Take();
    } else {
      number_ = DrawRecord();
    }
    key_ = YcsbKey(number_);
    field_ = static_cast<uint32_t>(random_.Below(kYcsbFields));
    scan_ = random_.Between(1, kYcsbMaxScan);
    RefreshField();
    return kind_;
  }

  absl::Status Run() override {
    ++version_;
    absl::Status done =
        Transact(*data_.store, &retries_, [this](Transaction& transaction) {
          KeyValue records = data_.Records(&transaction);
          switch (kind_) {
            case kYcsbRead:
              return Read(records);
            case kYcsbUpdate:
              return Update(records);
            case kYcsbInsert:
              return records.Put(key_, Text(), version_);
            case kYcsbScan:
              return Scan(records);
            default:
              break;
          }
          absl::Status read = Read(records);
          return read.ok() ? Update(records) : read;
        });
    if (kind_ == kYcsbInsert && done.ok()) data_.count.Commit(number_);
    return done;
  }

 private:
  absl::string_view Text() const { return {record_.data(), record_.size()}; }

  // All stored bytes are new, as the standard's are.
  void RefreshField() {
    char* const field = record_.data() + field_ * kYcsbFieldBytes;
    for (uint32_t at = 0; at < kYcsbFieldBytes; at += sizeof(uint64_t)) {
      const uint64_t fresh = random_.Next() | 0x2020202020202020ull;
      std::memcpy(field + at, &fresh,
                  std::min<size_t>(sizeof(fresh), kYcsbFieldBytes - at));
    }
  }

  uint64_t DrawRecord() {
    switch (how_) {
      case kZipfian:
        return Scrambled(data_.zipfian, random_);
      case kUniform:
        return random_.Below(data_.records);
      case kLatest:
        break;
    }
    return Latest(data_.zipfian, data_.count.visible(), random_);
  }

  // All fields go to the client.
  absl::Status Read(KeyValue& records) {
    ASSIGN_OR_RETURN(const auto entry, records.Get(key_));
    std::memcpy(out_.data(), entry.value.data(),
                std::min(entry.value.size(), out_.size()));
    return absl::OkStatus();
  }

  absl::Status Update(KeyValue& records) {
    const uint32_t offset = field_ * kYcsbFieldBytes;
    return records.Patch(key_, offset, Text().substr(offset, kYcsbFieldBytes),
                         version_);
  }

  absl::Status Scan(KeyValue& records) {
    return records.Scan(
        key_, "", scan_,
        [this](absl::string_view, const KeyValueReader::Entry& entry) {
          std::memcpy(out_.data(), entry.value.data(),
                      std::min(entry.value.size(), out_.size()));
          return true;
        });
  }

  Data& data_;
  const YcsbMix mix_;
  const How how_;
  Random random_;
  YcsbKind kind_ = kYcsbRead;
  uint64_t number_ = 0;
  std::string key_;
  uint32_t field_ = 0;
  uint64_t scan_ = 0;
  uint64_t version_ = 0;
  Record record_;
  Record out_{};
};

Cell MakeCell(char letter, const char* distribution, How how, int threads) {
  const std::string name = absl::StrCat("ycsb-", std::string(1, letter));
  // An insert that meets another's lock half way has changed pages already.
  const bool rolls_back = threads > 1 && MixOf(letter)[kYcsbInsert] > 0;
  return {name,   distribution, threads,   kYcsbRecordBytes,
          letter, how,          rolls_back};
}

class YcsbDataset final : public Dataset {
 public:
  // `used`: Load also updates every record, and then records at random.
  YcsbDataset(TransactionalStore* store, uint64_t records, Lookups lookups,
              bool used)
      : data_{store,
              records,
              engine::kNullObject,
              Zipfian(records, kYcsbTheta),
              RecordCount(records),
              lookups,
              engine::Directory(DirectoryBytes(records))},
        used_(used) {}

  absl::Status Load() override {
    absl::Status filled = Fill();
    return filled.ok() && used_ ? Use() : filled;
  }

  std::unique_ptr<Worker> MakeWorker(const Cell& cell, int,
                                     uint64_t seed) override {
    return absl::make_unique<YcsbWorker>(&data_, cell, seed);
  }

  // Deletes the inserted records, so that every slice has the same number of
  // records.
  absl::Status Restore() override {
    for (uint64_t i = data_.records; i < data_.count.taken(); ++i) {
      absl::Status gone =
          Transact(*data_.store, &retries_, [&](Transaction& transaction) {
            return data_.Records(&transaction).Delete(YcsbKey(i), 1);
          });
      if (!gone.ok() && !absl::IsNotFound(gone)) return gone;
    }
    data_.count.Reset(data_.records);
    data_.store->Quiesce();
    return absl::OkStatus();
  }

 private:
  absl::Status Fill() {
    absl::Status made =
        Transact(*data_.store, &retries_, [this](Transaction& transaction) {
          const auto root = engine::BTree::Create(transaction);
          if (root.ok()) data_.tree = *root;
          return root.status();
        });
    if (!made.ok()) return made;
    Random random(data_.records);
    Record text;
    FillText(random, text.data(), text.size());
    for (uint64_t next = 0; next < data_.records; next += kLoadBatch) {
      const uint64_t end = std::min(next + kLoadBatch, data_.records);
      absl::Status put =
          Transact(*data_.store, &retries_, [&](Transaction& transaction) {
            KeyValue records = data_.Records(&transaction);
            for (uint64_t i = next; i < end; ++i) {
              std::memcpy(text.data(), &i, sizeof(i));
              RETURN_IF_ERROR(
                  records.Put(YcsbKey(i), {text.data(), text.size()}, 1));
            }
            return absl::OkStatus();
          });
      if (!put.ok()) return put;
    }
    return absl::OkStatus();
  }

  // An undo copy without room for all copies then has the usual ones.
  absl::Status Use() {
    const std::string field(kYcsbFieldBytes, 'u');
    for (uint64_t i = 0; i < data_.records; ++i) {
      RETURN_IF_ERROR(
          Transact(*data_.store, &retries_, [&](Transaction& transaction) {
            return data_.Records(&transaction)
                .Patch(YcsbKey(i), 0, field, /*version=*/1);
          }));
    }
    YcsbWorker worker(&data_, MakeCell('a', "zipfian", kZipfian, 1),
                      data_.records);
    for (uint64_t i = 0; i < 4 * data_.records; ++i) {
      worker.Draw();
      RETURN_IF_ERROR(worker.Run());
    }
    return absl::OkStatus();
  }

  Data data_;
  const bool used_;
  uint64_t retries_ = 0;
};

class YcsbSuite : public Suite {
 public:
  YcsbSuite(uint64_t records, std::vector<int> threads, Lookups lookups)
      : records_(records), threads_(std::move(threads)), lookups_(lookups) {}

  std::string name() const override { return "ycsb"; }

  std::vector<std::string> kinds() const override {
    return {"read", "update", "insert", "scan", "read-modify-write"};
  }

  std::vector<Cell> Cells() const override {
    std::vector<Cell> cells;
    for (char letter = 'a'; letter <= 'f'; ++letter) {
      for (int threads : threads_) {
        cells.push_back(letter == 'd'
                            ? MakeCell(letter, "latest", kLatest, threads)
                            : MakeCell(letter, "zipfian", kZipfian, threads));
      }
      for (int threads : threads_) {
        cells.push_back(MakeCell(letter, "uniform", kUniform, threads));
      }
    }
    return cells;
  }

  uint64_t Bytes() const override {
    return (records_ + kInsertRoom) * kRecordFootprint;
  }

  uint64_t MaxTransactions() const override { return kMaxTransactions; }

  std::unique_ptr<Dataset> MakeDataset(
      TransactionalStore* store) const override {
    return absl::make_unique<YcsbDataset>(store, records_, lookups_,
                                          BeginsUsed());
  }

 protected:
  virtual bool BeginsUsed() const { return false; }

  const uint64_t records_;
  const std::vector<int> threads_;
  const Lookups lookups_;
};

class AlphaSuite final : public YcsbSuite {
 public:
  explicit AlphaSuite(uint64_t records)
      : YcsbSuite(records, {2}, Lookups::kByDirectory) {}

  std::string name() const override { return "alpha"; }

  std::vector<Cell> Cells() const override {
    std::vector<Cell> cells;
    for (char letter : {'a', 'b', 'c', 'd', 'f'}) {
      cells.push_back(letter == 'd' ? MakeCell(letter, "latest", kLatest, 2)
                                    : MakeCell(letter, "zipfian", kZipfian, 2));
    }
    return cells;
  }

  uint64_t Bytes() const override {
    return (records_ + records_ / 50) * kCloseFootprint;
  }

  // Inserts are 1 in 20.
  uint64_t MaxTransactions() const override { return records_ / 8; }

 protected:
  // Otherwise the first cells measure the first copies of records.
  bool BeginsUsed() const override { return true; }
};

}  // namespace

YcsbMix MixOf(char workload) {
  switch (workload) {
    case 'a':
      return {50, 50, 0, 0, 0};
    case 'b':
      return {95, 5, 0, 0, 0};
    case 'c':
      return {100, 0, 0, 0, 0};
    case 'd':
      return {95, 0, 5, 0, 0};
    case 'e':
      return {0, 0, 5, 95, 0};
    default:
      return {50, 0, 0, 0, 50};
  }
}

YcsbKind DrawKind(const YcsbMix& mix, Random& random) {
  int left = static_cast<int>(random.Below(100));
  int kind = 0;
  while (left >= mix[kind]) left -= mix[kind++];
  return static_cast<YcsbKind>(kind);
}

uint64_t DirectoryBytes(uint64_t records) { return 64 * records; }

std::string YcsbKey(uint64_t number) {
  return absl::StrCat("user", FnvHash(number) & (~uint64_t{0} >> 1));
}

void RecordCount::Commit(uint64_t number) {
  // One that was put off the processor holds all others up in the end.
  while (number >= visible() + kWindow) std::this_thread::yield();
  committed_[number % kWindow] = number + 1;
  // The worker that fills the gap moves the count past all workers behind it.
  for (uint64_t at = visible(); committed_[at % kWindow] == at + 1;) {
    if (visible_.compare_exchange_weak(at, at + 1)) ++at;
  }
}

void RecordCount::Reset(uint64_t count) {
  for (auto& number : committed_) number = 0;
  next_ = count;
  visible_ = count;
}

std::unique_ptr<Suite> MakeYcsbSuite(Scale scale, Lookups lookups) {
  uint64_t records = 5'000;
  if (scale == Scale::kFull) records = 1'000'000;
  if (scale == Scale::kQuick) records = 100'000;
  return absl::make_unique<YcsbSuite>(records, std::vector{1, 2, 4}, lookups);
}

std::unique_ptr<Suite> MakeAlphaSuite(Scale scale) {
  switch (scale) {
    case Scale::kFull:
      return absl::make_unique<AlphaSuite>(300'000);
    case Scale::kQuick:
      return absl::make_unique<AlphaSuite>(50'000);
    case Scale::kCount:
      break;
  }
  return absl::make_unique<AlphaSuite>(10'000);
}

}  // namespace kamino::bench
