#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/service/subjects.h"
#include "client/client.h"
#include "client/transaction.h"

namespace kamino::bench::service {
namespace {

using kamino::v1::CommitResponse;
using kamino::v1::GetResponse;
using kamino::v1::PutResponse;
using kamino::v1::ScanResponse;

class TransactionsObjects final : public Objects {
 public:
  explicit TransactionsObjects(client::Transaction* transaction)
      : transaction_(transaction) {}

  absl::StatusOr<std::optional<std::string>> Get(
      absl::string_view key) override {
    return transaction_->Get(key);
  }
  void Expect(absl::Span<const std::string> keys) override {
    transaction_->Expect(keys);
  }
  absl::Status Scan(
      absl::string_view start, absl::string_view end,
      absl::FunctionRef<bool(absl::string_view key, absl::string_view value)>
          visit) override {
    return transaction_->Scan(
        start, end, [&visit](const std::string& key, const std::string& value) {
          return visit(key, value);
        });
  }
  void Put(absl::string_view key, absl::string_view value) override {
    transaction_->Put(key, value);
  }
  absl::Status Patch(absl::string_view key, uint64_t offset,
                     absl::string_view data) override {
    return transaction_->Patch(key, offset, data);
  }
  void Delete(absl::string_view key) override { transaction_->Delete(key); }

 private:
  client::Transaction* const transaction_;
};

class KaminoSubject : public Subject {
 public:
  KaminoSubject(std::string name, std::unique_ptr<client::Client> client)
      : name_(std::move(name)), client_(std::move(client)) {}

  const std::string& name() const override { return name_; }

  void Put(const Object& object, Done done) override {
    kamino::v1::PutRequest request;
    request.set_key(object.key);
    request.set_value(object.value);
    client_->PutAsync(
        std::move(request),
        [done = std::move(done)](const absl::StatusOr<PutResponse>& response) {
          done(response.status(), "");
        });
  }

  void Get(const std::string& key, Done done) override {
    kamino::v1::GetRequest request;
    request.set_key(key);
    client_->GetAsync(
        std::move(request),
        [done = std::move(done)](const absl::StatusOr<GetResponse>& response) {
          done(response.status(), response.ok() ? response->value() : "");
        });
  }

  void PutAll(const std::vector<Object>& objects, Done done) override {
    kamino::v1::CommitRequest request;
    for (const Object& object : objects) {
      auto* put = request.add_then_operations()->mutable_put();
      put->set_key(object.key);
      put->set_value(object.value);
    }
    client_->CommitAsync(
        std::move(request),
        [done =
             std::move(done)](const absl::StatusOr<CommitResponse>& response) {
          done(response.ok() && !response->succeeded()
                   ? absl::AbortedError("the transaction did not succeed")
                   : response.status(),
               "");
        });
  }

  bool transacts() const override { return true; }
  absl::Status Transact(
      absl::FunctionRef<absl::Status(Objects& objects)> body) override {
    return client_->RunTransaction([&body](client::Transaction& transaction) {
      TransactionsObjects objects(&transaction);
      return body(objects);
    });
  }

  bool scans() const override { return true; }

  void Scan(const std::string& key, size_t limit, Scanned done) override {
    kamino::v1::ScanRequest request;
    request.set_start_key(key);
    request.set_limit(limit);
    // Its parts come one after the other.
    auto objects = std::make_shared<size_t>(0);
    client_->ScanAsync(
        std::move(request),
        [objects](const ScanResponse& part) {
          *objects += static_cast<size_t>(part.results_size());
          return true;
        },
        [objects, done = std::move(done)](const absl::Status& status) {
          done(status, *objects);
        });
  }

 private:
  const std::string name_;
  const std::unique_ptr<client::Client> client_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Subject>> MakeKamino(
    const std::string& name, const std::string& carrier,
    const std::vector<std::string>& seeds) {
  client::ClientOptions options;
  options.seeds = seeds;
  options.timeout = kCallTimeout;
  // The load limits the number of operations in progress.
  options.max_outstanding = std::numeric_limits<int>::max();
  options.carrier = carrier;
  ASSIGN_OR_RETURN(auto client, client::Client::Connect(std::move(options)));
  return std::make_unique<KaminoSubject>(name, std::move(client));
}

}  // namespace kamino::bench::service
